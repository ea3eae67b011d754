"""The times between an answer's tokens as what is drawn and said of them. Pure functions.

However long the answer, a drawing has at most ``MOST_BUCKETS`` places; each keeps the largest and
the smallest of its gaps, so that no stall is lost.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from engine.api import PaintUse, Stall, StallCause
from ui.charts.figures import Table
from ui.i18n import tr, tr_n
from ui.widgets.units import duration_quantity, milliseconds, rate_quantity

MOST_BUCKETS = 120
NUM_BINS = 20
MOST_STALLS = 8
STALL_MARK = "▲"
_NS_PER_MS = 1_000_000
# the scale reaches so many medians; what lies beyond is marked, and told by its figure
_MEDIANS = 4
_NICE = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True, slots=True)
class Bucket:
    """Gaps ``first`` to ``last`` (from 1, as the token they come before), the least and the most."""

    first: int
    last: int
    low_ns: int
    high_ns: int
    mean_ns: float


@dataclass(frozen=True, slots=True)
class Bin:
    """How many gaps are at least ``low_ns`` and below ``high_ns`` (None: there is no end)."""

    low_ns: float
    high_ns: float | None
    count: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """All gaps of an answer in short; percentiles are gaps that occurred."""

    count: int
    p50_ns: int
    p95_ns: int
    p99_ns: int
    max_ns: int
    ceiling_ns: float
    buckets: tuple[Bucket, ...]
    bins: tuple[Bin, ...]
    stalls: tuple[Stall, ...]
    has_shared: bool

    @property
    def spread_ns(self) -> float:
        """Where the bins end; what is beyond has one bin for itself."""
        return self.bins[NUM_BINS - 1].high_ns or 0.0

    def sentence(self) -> str:
        """What the drawings show."""
        words = tr(
            "{n} gaps between tokens: half take at most {p50} ms, 95% at most {p95} ms, the "
            "longest {max} ms.",
            n=f"{self.count:,}",
            p50=milliseconds(self.p50_ns),
            p95=milliseconds(self.p95_ns),
            max=milliseconds(self.max_ns),
        )
        if self.stalls:
            words += " " + tr_n("{n} is a stall.", "{n} are stalls.", len(self.stalls))
        return words


def gaps_of(gaps: Sequence[int], stalls: Sequence[Stall]) -> Gaps | None:
    """Everything about these gaps; None where there is none."""
    if not gaps:
        return None
    ordered = sorted(gaps)
    p50, p99 = rank(ordered, 0.5), rank(ordered, 0.99)
    usual = _MEDIANS * max(p50, _NS_PER_MS // 10)
    return Gaps(
        len(ordered),
        p50,
        rank(ordered, 0.95),
        p99,
        ordered[-1],
        nice_ceiling(min(ordered[-1], usual)),
        tuple(buckets_of(gaps)),
        tuple(bins_of(ordered, nice_ceiling(min(1.2 * p99, usual)))),
        tuple(stalls),
        ordered[0] <= 0,
    )


def rank(ordered: Sequence[int], fraction: float) -> int:
    """The smallest of sorted values that at least ``fraction`` of them do not exceed."""
    return ordered[max(0, math.ceil(fraction * len(ordered)) - 1)]


def nice_ceiling(value_ns: float) -> float:
    """The next round duration at or above a value."""
    power = 10.0 ** math.floor(math.log10(max(1.0, value_ns)))
    return next(step * power for step in _NICE if step * power >= value_ns * (1 - 1e-9))


def buckets_of(gaps: Sequence[int], most: int = MOST_BUCKETS) -> list[Bucket]:
    """At most ``most`` buckets of as many neighbours each."""
    size = max(1, -(-len(gaps) // most))
    buckets = []
    for start in range(0, len(gaps), size):
        part = gaps[start : start + size]
        last = start + len(part)
        buckets.append(Bucket(start + 1, last, min(part), max(part), sum(part) / len(part)))
    return buckets


def bins_of(ordered: Sequence[int], ceiling_ns: float) -> list[Bin]:
    """Equal bins up to the ceiling, and one for what is beyond it."""
    edges = [ceiling_ns * number / NUM_BINS for number in range(NUM_BINS)]
    places = [*(bisect_left(ordered, edge) for edge in edges[1:]), len(ordered)]
    beyond = bisect_left(ordered, ceiling_ns)
    places[-1] = beyond
    bins, before = [], 0
    for number, (edge, place) in enumerate(zip(edges, places, strict=True), 1):
        bins.append(Bin(edge, ceiling_ns * number / NUM_BINS, place - before))
        before = place
    if beyond < len(ordered):
        bins.append(Bin(ceiling_ns, None, len(ordered) - beyond))
    return bins


def cause_words(cause: StallCause) -> str:
    """What held a token up."""
    words = {
        StallCause.PREFILL: tr("another prompt was computed"),
        StallCause.PREEMPTED: tr("its cache had been given up to other answers"),
        StallCause.COLLECTOR: tr("Python collected garbage"),
        StallCause.MEMORY: tr("parts of the program were read back from the disk"),
        StallCause.THROTTLED: tr("the processor ran below its speed"),
        StallCause.STOLEN: tr("the host of this virtual machine had the processor"),
        StallCause.OTHERS: tr("other programs had the processor"),
        StallCause.UNKNOWN: tr("cause not known"),
    }
    return words[cause]


def stall_words(stall: Stall) -> str:
    """One stall in a line: the token that came late, by how much, and why."""
    return tr(
        "token {n}: {ms} ms, {cause}",
        n=f"{stall.index + 1:,}",
        ms=milliseconds(stall.duration_ns),
        cause=cause_words(stall.cause),
    )


def _of_one_cause(stalls: Sequence[Stall]) -> str:
    if len(stalls) == 1:
        return stall_words(stalls[0])
    tokens = (
        tr("{n} ({ms} ms)", n=f"{stall.index + 1:,}", ms=milliseconds(stall.duration_ns))
        for stall in stalls
    )
    return tr(
        "{cause}: tokens {tokens}",
        cause=cause_words(stalls[0].cause),
        tokens=tr(", ").join(tokens),
    )


def stalls_text(stalls: Sequence[Stall]) -> str:
    """The longest stalls in the order they came; a line each, or one for all of a cause."""
    longest = sorted(stalls, key=lambda stall: -stall.duration_ns)[:MOST_STALLS]
    causes: dict[StallCause, list[Stall]] = {}
    for stall in sorted(longest, key=lambda stall: stall.index):
        causes.setdefault(stall.cause, []).append(stall)
    lines = [f"{STALL_MARK} {_of_one_cause(some)}" for some in causes.values()]
    if (more := len(stalls) - len(longest)) > 0:
        lines.append(tr_n("and {n} shorter one", "and {n} shorter ones", more))
    return "\n".join(lines)


def speed_words(tokens_per_s: float | None, paint: PaintUse | None) -> str:
    """How fast the engine is, and apart from it how far the window is behind."""
    engine = tr("Engine: too few tokens yet.")
    if tokens_per_s is not None:
        engine = tr("Engine: {rate}.", rate=rate_quantity(tokens_per_s))
    if paint is None:
        return engine + "\n" + tr("Window: nothing of this answer was seen being painted.")
    window = tr(
        "Window: a token is on the screen {p50} ms after its choice, at most {max} ms "
        "({n} paints).",
        p50=milliseconds(paint.p50_ns),
        max=milliseconds(paint.max_ns),
        n=f"{paint.num_paints:,}",
    )
    return f"{engine}\n{window}"


def bin_words(part: Bin) -> str:
    """The range of a bin."""
    low = milliseconds(part.low_ns) if part.low_ns else "0"
    if part.high_ns is None:
        return tr("{low} ms and more", low=low)
    return tr("{low} to {high} ms", low=low, high=milliseconds(part.high_ns))


def table_of(gaps: Gaps) -> Table:
    """The distribution as rows: the percentiles, then the bins that are not empty."""
    rows = [
        ("p50", str(duration_quantity(gaps.p50_ns))),
        ("p95", str(duration_quantity(gaps.p95_ns))),
        ("p99", str(duration_quantity(gaps.p99_ns))),
        (tr("longest"), str(duration_quantity(gaps.max_ns))),
    ]
    rows += [(bin_words(part), f"{part.count:,}") for part in gaps.bins if part.count]
    return Table((tr("Gap"), tr("Value or count")), tuple(rows), tuple(rows))
