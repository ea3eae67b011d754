"""The times between tokens, and which of them are stalls, with their cause where it is known."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from engine.metrics import inter_token_latencies, overlap_ns, percentile
from engine.tracing.recorder import Trace

# A gap is a stall where a reader would notice: three times the usual one, and 20 ms longer.
_TIMES_USUAL = 3
_LEAST_EXCESS_NS = 20_000_000
# A cause explains a stall where it covers so much of what is too long.
_COVERED = 0.5


class StallCause(StrEnum):
    """What held a token up.

    PREFILL: another prompt was computed. PREEMPTED: its cache had been given up to others.
    COLLECTOR: Python collected garbage. UNKNOWN: nothing that was watched.
    """

    PREFILL = "prefill"
    PREEMPTED = "preempted"
    COLLECTOR = "collector"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Stall:
    """The gap before token ``index`` (the first is 0)."""

    index: int
    start_ns: int
    duration_ns: int
    cause: StallCause


def find_stalls(trace: Trace, collections: Iterable[tuple[int, int]] = ()) -> list[Stall]:
    """The stalls of an answer, in order. ``collections``: spans of the garbage collector."""
    gaps = inter_token_latencies(trace.times_ns)
    if not gaps:
        return []
    usual = percentile(sorted(gaps), 0.5)
    limit = max(_TIMES_USUAL * usual, usual + _LEAST_EXCESS_NS)
    spans = {StallCause.COLLECTOR: tuple(collections), StallCause.PREFILL: trace.others}
    stalls = []
    for index, gap in enumerate(gaps, 1):
        if gap < limit:
            continue
        start, end = trace.times_ns[index - 1], trace.times_ns[index]
        cause = StallCause.PREEMPTED if index in trace.preempted else StallCause.UNKNOWN
        for name, known in spans.items():
            covered = sum(overlap_ns(start, end, *span) for span in known)
            if cause is StallCause.UNKNOWN and covered >= _COVERED * (gap - usual):
                cause = name
        stalls.append(Stall(index, start, gap, cause))
    return stalls
