"""From which figure on something counts as proven: every limit, and why it lies there.

Each is a band. Below ``low`` the thing is not so, from ``high`` on it is, and between them nobody
can tell: a run repeated on the same machine differs by several percent, and a verdict must not.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Band:
    """Yes from ``high`` on, no below ``low``."""

    low: float
    high: float

    def judge(self, value: float | None) -> bool | None:
        """Whether it is so; None where that cannot be told, or nothing was measured."""
        if value is None or self.low <= value < self.high:
            return None
        return value >= self.high

    def confidence(self, value: float) -> float:
        """0.5 at the threshold, 1 two widths of the band beyond it."""
        beyond = (value - self.high) / (self.high - self.low)
        return min(1.0, max(0.0, 0.5 + 0.25 * beyond))


DOMINANT: Final = Band(0.45, 0.55)
"""Share of the whole time that one stage takes. All shares add up to 1, so from 0.55 on every
other stage is below 0.45, and a tenth of the time may be measured wrongly before they change
places."""

MISSED: Final = Band(0.4, 0.6)
"""Share of the computed prompt tokens that a cache could have given. From 0.6 on most of the
prefill was avoidable, whichever tokens were the dearer ones: attention makes the last tokens of a
prompt cost up to half as much again as the mean."""

HOST: Final = Band(0.25, 0.4)
"""Share of a stage spent outside the model's kernels. A healthy step spends some percent there. At
0.4 the kernels could be infinitely fast and the stage would still take 0.4 of its time; the limit
is below one half because what runs outside waits for the kernels' memory, too."""

AT_CEILING: Final = Band(0.4, 0.6)
"""Share of a decode step that reading takes at the measured ceiling. From 0.6 on reading is the
largest part whatever the rest is. The ceilings are the best of several runs, so that a sound step
reaches 0.6 to 1; below 0.4 something else must be holding it up."""

COMPUTING: Final = Band(0.3, 0.5)
"""As AT_CEILING for the arithmetic of a prompt: less, because small chunks and attention keep a
prefill further from the rate of one large product."""

OFFLOADED: Final = Band(0.4, 0.6)
"""Share of a step's reading that happens beside the GPU, in time at the measured rates."""

SWAPPED: Final = Band(0.01, 0.05)
"""Bytes read back from swap over those a step reads, a token. A disk gives a tenth of what memory
gives, at best: 0.05 of the bytes then take a third of the time, 0.01 are lost in the noise."""

OVERCOMMITTED: Final = Band(0.25, 0.5)
"""Cores missing: engine threads and cores that others keep busy, over the cores there are. All
threads wait for the slowest: with half a core missing that one has two thirds of its speed. A
quarter is what a desktop, a clock and a mail program come to."""

WAITED: Final = Band(0.2, 0.33)
"""Part of the time that the engine was ready and had no core, where the system counts it: what
OVERCOMMITTED comes to, with a quarter and with half a core missing."""

STOLEN: Final = Band(0.1, 0.2)
"""Part of the processor time wanted here that the host took. The threads of a step wait for each
other, and a host seldom takes their processors at the same moment: what two of them lose comes to
up to twice as much of the step. So 0.2 costs what WAITED asks for, and 0.1 half of it."""

LARGER: Final = Band(0.05, 0.15)
"""By how much the part of a step that reading takes exceeds the part without a processor. Both are
measured within some percent; a tenth between them is told apart, a hundredth is not."""

FELT: Final = 0.05
"""Part of the time without a processor from which on it is worth a word."""

SLOWED_PLAIN: Final = Band(0.25, 0.4)
"""What is missing of the processor's highest frequency where nothing else speaks of throttling. With
all cores busy many processors run a quarter below what a single core reaches, by design; 0.4 below
is no design of theirs."""

SLOWED_KNOWN: Final = Band(0.1, 0.2)
"""As SLOWED_PLAIN where a saving mode, a battery or a temperature at its limit is known: then half
the distance is enough."""

NEAR_LIMIT_C: Final = 5.0
"""Degrees below the critical temperature at which processors begin to slow down."""

PAINTING: Final = Band(1.0, 2.0)
"""Median delay from a token to its pixels over the larger of 50 ms and the time between tokens.
The window paints once a frame, 16 ms; a delay of two tokens and of more than 100 ms is seen."""

LEAST_PAINT_NS: Final = 50_000_000
"""Below this a delay is nobody's trouble; see PAINTING."""

LEAST_STEPS: Final = 8
"""Decode steps from which a mean is one: a single stall among fewer would decide the verdict."""

LEAST_GAIN: Final = 1.05
"""A remedy that promises less would drown in the differences between two runs."""
