"""Does it fit? What a model needs beside what the machine has, with a margin and the reasons.

Free memory is what the system could give away now, so what other programs hold is counted; the
model about to be replaced gives its bytes back first. The margin is there because estimates that
end within two gigabytes of the limit have sent people into the swap file: a quarter of what is
needed, from half a gigabyte up to two.
"""

from dataclasses import dataclass
from enum import StrEnum

GB = 1e9
_LEAST_MARGIN = 512 << 20
_MOST_MARGIN = 2 << 30


class Verdict(StrEnum):
    """FITS: with the margin to spare. TIGHT: only without it. TOO_LARGE: not at all."""

    FITS = "fits"
    TIGHT = "tight"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory a model would live in, in bytes.

    ``other_bytes``: what other programs and the system hold. ``bytes_to_free``: what the model
    about to be replaced gives back.
    """

    total_bytes: int
    available_bytes: int
    other_bytes: int = 0
    bytes_to_free: int = 0
    is_cuda: bool = False

    @property
    def usable_bytes(self) -> int:
        """What a new model could have, margin not yet taken off."""
        return min(self.total_bytes, self.available_bytes + self.bytes_to_free)

    @property
    def name(self) -> str:
        """What people call it."""
        return "graphics memory" if self.is_cuda else "memory"


def margin_bytes(needed: int) -> int:
    """What stays free beside ``needed`` bytes."""
    return min(_MOST_MARGIN, max(_LEAST_MARGIN, needed // 4))


def judge(needed: int, memory: Memory) -> Verdict:
    """Compare ``needed`` bytes, without margin, with what the machine has."""
    if needed + margin_bytes(needed) <= memory.usable_bytes:
        return Verdict.FITS
    return Verdict.TIGHT if needed <= memory.usable_bytes else Verdict.TOO_LARGE


def explain(needed: int, memory: Memory, verdict: Verdict) -> list[str]:
    """The verdict and its figures, a sentence each."""
    margin = margin_bytes(needed)
    figures = (
        f"about {needed / GB:.2f} GB of {memory.usable_bytes / GB:.2f} GB of free {memory.name}"
    )
    match verdict:
        case Verdict.FITS:
            first = f"It needs {figures}, and leaves the margin of {margin / GB:.2f} GB."
        case Verdict.TIGHT:
            first = (
                f"It needs {figures}, which leaves less than the margin of {margin / GB:.2f} GB;"
                " estimates that close have failed while loading."
            )
        case _:
            first = f"It needs {figures}."
    return [first, *explain_use(memory)]


def explain_use(memory: Memory) -> list[str]:
    """What the rest of the memory holds."""
    reasons = []
    if memory.bytes_to_free:
        reasons.append(
            f"The model it replaces gives back {memory.bytes_to_free / GB:.2f} GB; that is counted."
        )
    if memory.other_bytes:
        reasons.append(
            f"Other programs and the system hold {memory.other_bytes / GB:.2f} GB of"
            f" {memory.total_bytes / GB:.2f} GB of {memory.name}."
        )
    return reasons
