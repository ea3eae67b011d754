"""An answer's stages on one axis: from Send to the last token's text, nothing twice, no gap.

::

    queue | template | tokenize | queue | prefill | first_sample | decode ... detokenize

``queue`` is in two pieces where it waited twice, and what is turned into text between two tokens
is drawn at the end: durations are exact, these two places are not.
"""

from engine.api.report import StageTime
from engine.api.timeline import Timeline

STAGES = ("queue", "template", "tokenize", "prefill", "first_sample", "decode", "detokenize")


def stages_of(line: Timeline) -> list[StageTime]:
    """All stages by the names in STAGES; the durations add up to ``total_ns``.

    Where the answer waited for the model to load, ``load`` comes first.
    """
    start = line.sent_ns
    tokenize, prefill = line.tokenize_start_ns - start, line.prefill_start_ns - start
    template = min(line.template_ns, line.tokenize_ns)
    early = (line.load_wait_ns, tokenize - line.load_wait_ns)
    late = (line.tokenize_end_ns - start, line.prefill_start_ns - line.tokenize_end_ns)
    waits = tuple(span for span in (early, late) if span[1] > 0) or (early,)
    first = line.first_token_ns - start
    text = min(line.detokenize_ns, line.end_ns - line.first_token_ns)
    decode = line.end_ns - line.first_token_ns - text
    stages = [
        StageTime("queue", waits),
        StageTime("template", ((tokenize, template),)),
        StageTime("tokenize", ((tokenize + template, line.tokenize_ns - template),)),
        StageTime("prefill", ((prefill, line.prefill_ns),)),
        StageTime("first_sample", ((prefill + line.prefill_ns, line.sample_ns),)),
        StageTime("decode", ((first, decode),)),
        StageTime("detokenize", ((first + decode, text),)),
    ]
    if line.load_wait_ns:
        stages.insert(0, StageTime("load", ((0, line.load_wait_ns),)))
    return stages


def total_ns(line: Timeline) -> int:
    """From Send to the last token's text."""
    return line.end_ns - line.sent_ns
