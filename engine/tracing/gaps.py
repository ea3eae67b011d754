"""The times between tokens, and which of them are stalls, with their cause where it is known."""

from collections.abc import Mapping, Sequence

from engine.api import Stall, StallCause
from engine.metrics import inter_token_latencies, overlap_ns, percentile
from engine.tracing.recorder import Trace

# A gap is a stall where a reader would notice: three times the usual one, and 20 ms longer.
_TIMES_USUAL = 3
_LEAST_EXCESS_NS = 20_000_000
# A cause explains a stall where it covers so much of what is too long.
_COVERED = 0.5


def find_stalls(
    trace: Trace, watched: Mapping[StallCause, Sequence[tuple[int, int]]] | None = None
) -> list[Stall]:
    """The stalls of an answer, in order. ``watched``: spans in which something else went on."""
    gaps = inter_token_latencies(trace.times_ns)
    if not gaps:
        return []
    usual = percentile(sorted(gaps), 0.5)
    limit = max(_TIMES_USUAL * usual, usual + _LEAST_EXCESS_NS)
    spans = {StallCause.PREFILL: trace.others, **(watched or {})}
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
