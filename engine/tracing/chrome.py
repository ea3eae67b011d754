"""A report as a file for Chrome's tracing page and Perfetto.

The Trace Event Format, as its public document describes it: an object with ``traceEvents``; complete
events (``ph`` "X") with ``ts`` and ``dur`` in microseconds, metadata ("M") that names processes and
threads, counters ("C"), and instant events ("i").
"""

from engine.api import AnswerReport

_PROCESS = 1
_STAGES, _CHUNKS, _TOKENS, _COLLECTOR, _OTHERS = 1, 2, 3, 4, 5
_THREADS = {
    _STAGES: "Stages",
    _CHUNKS: "Prompt chunks",
    _TOKENS: "Tokens",
    _COLLECTOR: "Garbage collector",
    _OTHERS: "Other prompts",
}
Event = dict[str, object]


def chrome_trace(report: AnswerReport) -> dict[str, object]:
    """The whole file as plain values; the model is the process in it. Times are after Send."""
    events = [_metadata("process_name", 0, report.model)]
    events += [_metadata("thread_name", thread, text) for thread, text in _THREADS.items()]
    for stage in report.stages:
        for start, duration in stage.spans:
            events.append(_complete(_STAGES, stage.name, start, duration))
    if (paint := report.timeline.paint_ns) is not None:
        first = report.timeline.first_token_ns - report.timeline.sent_ns
        events.append(_complete(_STAGES, "first_paint", first, paint))
    cached = report.timeline.num_cached_tokens
    for index, chunk in enumerate(report.chunks):
        counts = {"computed": chunk.num_computed, "cached": cached if index == 0 else 0}
        span = (chunk.start_ns, chunk.end_ns - chunk.start_ns)
        events.append(_complete(_CHUNKS, "chunk", *span, **counts))
    events += _tokens(report)
    for stall in report.stalls:
        events.append(
            {
                "name": f"stall: {stall.cause.value}",
                "ph": "i",
                "s": "t",
                "pid": _PROCESS,
                "tid": _TOKENS,
                "ts": (stall.start_ns - report.timeline.sent_ns) / 1e3,
            }
        )
    for start, end in report.collections:
        events.append(_complete(_COLLECTOR, "collection", start, end - start))
    for start, end in report.others:
        events.append(_complete(_OTHERS, "chunk of another prompt", start, end - start))
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _tokens(report: AnswerReport) -> list[Event]:
    """A bar from each token to the next, and the cache as it grows."""
    events: list[Event] = []
    for index, at in enumerate(report.times_ns):
        if index:
            before = report.times_ns[index - 1]
            events.append(_complete(_TOKENS, "token", before, at - before, index=index))
        events.append(
            {
                "name": "Tokens in the cache",
                "ph": "C",
                "pid": _PROCESS,
                "tid": 0,
                "ts": at / 1e3,
                "args": {"tokens": report.timeline.num_prompt_tokens + index},
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
