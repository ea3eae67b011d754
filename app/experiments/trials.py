"""One measurement of an experiment: what is asked, what was seen, and what it is read as.

Plain values. A trial is repeated as a whole or not at all; whoever runs it knows how.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from engine.api import ModelInfo, Timeline

NS_PER_MS = 1e6
_TOKEN_COST = 10.0  # of a token of an answer, in tokens of a prompt


class Depth(StrEnum):
    """QUICK takes about a minute with a small model; FULL measures more, more often."""

    QUICK = "quick"
    FULL = "full"


class Text(StrEnum):
    """PROSE: sentences in an order of their own each time. REPEATING: a few, again and again."""

    PROSE = "prose"
    REPEATING = "repeating"


@dataclass(frozen=True, slots=True)
class Ask:
    """One answer: tokens of its prompt (about), and of itself (less at the end of the context)."""

    prompt_tokens: int
    new_tokens: int
    kv_cache: bool = True
    guess_ahead: bool = False
    text: Text = Text.PROSE

    def cost(self, num_read: int, num_written: int) -> float:
        """About how long it takes to read and write so much, in prompt tokens read."""
        if not self.kv_cache:  # each token reads everything before it again
            return num_read + num_written * (self.prompt_tokens + num_written / 2)
        return num_read + _TOKEN_COST * num_written


@dataclass(frozen=True, slots=True)
class EngineTrial:
    """Answers of the loaded model, asked for together.

    ``until_admitted``: the trial is over once no further answer is given room, and all that have
    are past their prompts. ``series`` and ``x`` say which point of the chart it becomes, ``label``
    names a point that is no number.
    """

    series: str
    x: float
    asks: tuple[Ask, ...]
    label: str = ""
    until_admitted: bool = False

    @property
    def cost(self) -> float:
        """About how long it takes, in prompt tokens read."""
        return sum(self.cost_of(ask, ask.prompt_tokens, ask.new_tokens) for ask in self.asks)

    def cost_of(self, ask: Ask, num_read: int, num_written: int) -> float:
        """Of one answer that is so far; what answers write meanwhile is not waited for."""
        return ask.cost(num_read, 0 if self.until_admitted else num_written)


@dataclass(frozen=True, slots=True)
class ProgramTrial:
    """A run of the engine's command line, in a process of its own."""

    series: str
    x: float
    arguments: tuple[str, ...]
    label: str = ""
    cost: float = 4_000.0


Trial = EngineTrial | ProgramTrial


@dataclass(frozen=True, slots=True)
class AnswerSeen:
    """When the tokens of one answer came (ns), and its stages."""

    times_ns: tuple[int, ...] = ()
    timeline: Timeline | None = None

    @property
    def gaps_ms(self) -> tuple[float, ...]:
        """From each token to the next."""
        return tuple((b - a) / NS_PER_MS for a, b in pairwise(self.times_ns))


@dataclass(frozen=True, slots=True)
class Seen:
    """What a trial showed: answers in the order of its asks, or what a program printed.

    ``most_running``: answers that had room in the cache at once. ``seconds`` a program took.
    """

    answers: tuple[AnswerSeen, ...] = ()
    most_running: int = 0
    printed: Mapping[str, object] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """One measured point: numbers by name. ``x`` is the planned place, the same in every run."""

    series: str
    x: float
    values: Mapping[str, float]
    label: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured. ``losses``: what was measured of its precisions before, by weights."""

    info: ModelInfo
    depth: Depth = Depth.QUICK
    losses: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def room(self) -> int:
        """Tokens of the longest answer with its prompt, a little kept free for a rough count."""
        return max(32, self.info.context_length - max(16, self.info.context_length // 16))


def rate_of(times_ns: Sequence[Sequence[int]]) -> float | None:
    """Tokens a second of all answers together, from the moment each has its first one."""
    begun = [times for times in times_ns if times]
    if len(begun) < len(times_ns) or not begun:
        return None
    start = max(times[0] for times in begun)
    end = max(times[-1] for times in begun)
    count = sum(at > start for times in begun for at in times)
    return count * 1e9 / (end - start) if count and end > start else None


def number_in(printed: Mapping[str, object], *names: str) -> float | None:
    """A number at a path of names in what a program printed; None where there is none."""
    value: object = printed
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
