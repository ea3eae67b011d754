"""An answer's stages on one axis: from Send to the last token's text, nothing twice, no gap.

::

    queue | template | tokenize | queue | prefill | first_sample | decode ... detokenize

``queue`` is in two pieces where it waited twice, and what is turned into text between two tokens
is drawn at the end: durations are exact, these two places are not.
"""

from dataclasses import dataclass

from engine.api import Timeline

STAGES = ("queue", "template", "tokenize", "prefill", "first_sample", "decode", "detokenize")


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage; ``spans`` are its pieces, (start, duration) in ns after Send."""

    name: str
    spans: tuple[tuple[int, int], ...]

    @property
    def start_ns(self) -> int:
        """Where it begins, after Send."""
        return self.spans[0][0]

    @property
    def duration_ns(self) -> int:
        """All its pieces."""
        return sum(duration for _start, duration in self.spans)


def stages_of(line: Timeline) -> list[Stage]:
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
        Stage("queue", waits),
        Stage("template", ((tokenize, template),)),
        Stage("tokenize", ((tokenize + template, line.tokenize_ns - template),)),
        Stage("prefill", ((prefill, line.prefill_ns),)),
        Stage("first_sample", ((prefill + line.prefill_ns, line.sample_ns),)),
        Stage("decode", ((first, decode),)),
        Stage("detokenize", ((first + decode, text),)),
    ]
    if line.load_wait_ns:
        stages.insert(0, Stage("load", ((0, line.load_wait_ns),)))
    return stages


def total_ns(line: Timeline) -> int:
    """From Send to the last token's text."""
    return line.end_ns - line.sent_ns
