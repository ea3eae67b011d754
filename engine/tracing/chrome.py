"""A trace as a file for Chrome's tracing page and Perfetto.

The Trace Event Format, as its public document describes it: an object with ``traceEvents``; complete
events (``ph`` "X") with ``ts`` and ``dur`` in microseconds, metadata ("M") that names processes and
threads, counters ("C"), and instant events ("i").
"""

from collections.abc import Iterable

from engine.tracing.gaps import Stall
from engine.tracing.recorder import Trace
from engine.tracing.stages import stages_of

_PROCESS = 1
_STAGES, _CHUNKS, _TOKENS, _COLLECTOR = 1, 2, 3, 4
_THREADS = {
    _STAGES: "Stages",
    _CHUNKS: "Prompt chunks",
    _TOKENS: "Tokens",
    _COLLECTOR: "Garbage collector",
}
Event = dict[str, object]


def chrome_trace(
    trace: Trace,
    name: str,
    stalls: Iterable[Stall] = (),
    collections: Iterable[tuple[int, int]] = (),
) -> dict[str, object]:
    """The whole file as plain values; ``name`` is the process in it. Times are after Send."""
    line = trace.timeline
    events = [_metadata("process_name", 0, name)]
    events += [_metadata("thread_name", thread, text) for thread, text in _THREADS.items()]
    if line is None:
        return {"traceEvents": events, "displayTimeUnit": "ms"}
    sent = line.sent_ns
    for stage in stages_of(line):
        for start, duration in stage.spans:
            events.append(_complete(_STAGES, stage.name, start, duration))
    cached = line.num_cached_tokens
    for index, chunk in enumerate(trace.chunks):
        counts = {"computed": chunk.num_tokens, "cached": cached if index == 0 else 0}
        span = (chunk.start_ns - sent, chunk.end_ns - chunk.start_ns)
        events.append(_complete(_CHUNKS, "chunk", *span, **counts))
    events += _tokens(trace, sent)
    for stall in stalls:
        events.append(
            {
                "name": f"stall: {stall.cause.value}",
                "ph": "i",
                "s": "t",
                "pid": _PROCESS,
                "tid": _TOKENS,
                "ts": (stall.start_ns - sent) / 1e3,
            }
        )
    for start, end in collections:
        if sent <= start <= line.end_ns:
            events.append(_complete(_COLLECTOR, "collection", start - sent, end - start))
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _tokens(trace: Trace, sent: int) -> list[Event]:
    """A bar from each token to the next, and the cache as it grows."""
    line = trace.timeline
    assert line is not None
    events: list[Event] = []
    before = line.first_token_ns
    for index, at in enumerate(trace.times_ns):
        if index:
            events.append(_complete(_TOKENS, "token", before - sent, at - before, index=index))
        before = at
        events.append(
            {
                "name": "Tokens in the cache",
                "ph": "C",
                "pid": _PROCESS,
                "tid": 0,
                "ts": (at - sent) / 1e3,
                "args": {"tokens": line.num_prompt_tokens + index},
            }
        )
    return events


def _metadata(kind: str, thread: int, text: str) -> Event:
    return {"name": kind, "ph": "M", "pid": _PROCESS, "tid": thread, "args": {"name": text}}


def _complete(thread: int, name: str, start_ns: int, duration_ns: int, **counts: int) -> Event:
    return {
        "name": name,
        "cat": "answer",
        "ph": "X",
        "pid": _PROCESS,
        "tid": thread,
        "ts": start_ns / 1e3,
        "dur": max(0, duration_ns) / 1e3,
        "args": dict(counts),
    }
