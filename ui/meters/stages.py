"""What the time to the first token is made of, as parts of a bar. Pure functions."""

from engine.api import Timeline
from ui.i18n import tr
from ui.widgets.parts_bar import Part
from ui.widgets.units import duration_quantity


def ttft_parts(timeline: Timeline) -> list[Part]:
    """The stages in order; they add up to the timeline's TTFT. Loading only where it happened."""
    stages: list[tuple[str, str, int | None]] = [
        ("stage_queue", tr("queue"), timeline.queue_ns),
        ("stage_load", tr("load"), timeline.load_wait_ns or None),
        ("stage_tokenize", tr("tokenise"), timeline.tokenize_ns),
        ("stage_prefill", tr("prefill"), timeline.prefill_ns),
        ("stage_decode", tr("sample"), timeline.sample_ns),
        ("stage_paint", tr("first paint"), timeline.paint_ns),
    ]
    parts = []
    for token, name, duration_ns in stages:
        if duration_ns is None:
            continue
        text = f"{name} {duration_quantity(duration_ns)}"
        parts.append(Part(token, max(0, duration_ns), text, text))
    return parts


def prompt_words(timeline: Timeline) -> str:
    """How the prompt's tokens were come by."""
    total = f"{timeline.num_prompt_tokens:,}"
    if timeline.num_cached_tokens:
        return tr(
            "{cached} of {total} prompt tokens from cache",
            cached=f"{timeline.num_cached_tokens:,}",
            total=total,
        )
    return tr("{total} prompt tokens", total=total)
