"""The quiet line under an answer, and the stages of its bar. Pure functions of the figures."""

from engine.api import CacheMiss, FinishReason, LeftOut, MissKind, Timeline
from ui.chat.rows import AnswerStats
from ui.i18n import tr, tr_n
from ui.widgets.stage_bar import Stage

SEPARATOR = " \u00b7 "


def reason_words(reason: FinishReason) -> str:
    """Why the answer ended, in words."""
    words = {
        FinishReason.END_OF_TEXT: tr("ended by itself"),
        FinishReason.STOP_STRING: tr("stopped at a stop string"),
        FinishReason.MAX_TOKENS: tr("reached the token limit"),
        FinishReason.CONTEXT_FULL: tr("context full"),
        FinishReason.CANCELLED: tr("stopped by you"),
        FinishReason.FAILED: tr("failed"),
    }
    return words[reason]


def duration(nanoseconds: int) -> str:
    """Milliseconds below a second, then seconds with one decimal, then whole seconds."""
    milliseconds = nanoseconds / 1e6
    if milliseconds < 1:
        return tr("{value} ms", value=f"{milliseconds:.2f}")
    if milliseconds < 10:
        return tr("{value} ms", value=f"{milliseconds:.1f}")
    if milliseconds < 999.5:
        return tr("{value} ms", value=f"{milliseconds:.0f}")
    if milliseconds < 9_950:
        return tr("{value} s", value=f"{milliseconds / 1e3:.1f}")
    return tr("{value} s", value=f"{milliseconds / 1e3:,.0f}")


def rate(tokens_per_s: float) -> str:
    """A speed with the digits that mean something."""
    digits = 1 if tokens_per_s < 10 else 0
    return tr("{value} tokens/s", value=f"{tokens_per_s:,.{digits}f}")


def describe(stats: AnswerStats) -> str:
    """Tokens, time to the first, speed, prompt tokens from the cache, reason."""
    timeline = stats.timeline
    parts = [tr_n("{n} token", "{n} tokens", timeline.num_output_tokens)]
    if timeline.num_output_tokens:
        parts.append(tr("first token {time}", time=duration(timeline.ttft_ns)))
    speed = timeline.decode_tokens_per_s
    if speed is not None:
        parts.append(rate(speed))
    if timeline.num_cached_tokens:
        parts.append(
            tr(
                "{cached} of {total} prompt tokens from cache",
                cached=f"{timeline.num_cached_tokens:,}",
                total=f"{timeline.num_prompt_tokens:,}",
            )
        )
    else:
        parts.append(tr_n("{n} prompt token", "{n} prompt tokens", timeline.num_prompt_tokens))
    if timeline.cache_miss is not None and (short := _short(timeline.cache_miss.kind)):
        parts[-1] += tr(" ({reason})", reason=short)
    parts.append(reason_words(stats.reason))
    return SEPARATOR.join(parts)


def left_out_words(left_out: LeftOut) -> str:
    """What of the conversation an answer does not see."""
    messages, tokens = left_out.num_messages, f"{left_out.num_tokens:,}"
    if messages == 1:
        return tr("1 earlier message ({tokens} tokens) was left out of this answer", tokens=tokens)
    return tr(
        "{n} earlier messages ({tokens} tokens) were left out of this answer",
        n=f"{messages:,}",
        tokens=tokens,
    )


def describe_reuse(timeline: Timeline) -> str:
    """How much of the prompt the cache held, and why not more, in sentences."""
    cached = tr(
        "{cached} of {total} prompt tokens came from the cache.",
        cached=f"{timeline.num_cached_tokens:,}",
        total=f"{timeline.num_prompt_tokens:,}",
    )
    if timeline.cache_miss is None:
        return cached
    return tr(" ").join(
        (cached, _miss_words(timeline.cache_miss), *_place_words(timeline.cache_miss))
    )


def _short(kind: MissKind) -> str:
    """Two words for the quiet line; none where nobody would expect a hit."""
    words = {
        MissKind.TEXT_CHANGED: tr("text changed"),
        MissKind.EVICTED: tr("displaced"),
        MissKind.MODEL_CHANGED: tr("other model"),
        MissKind.PRECISION_CHANGED: tr("other precision"),
        MissKind.RELOADED: tr("model reloaded"),
        MissKind.CACHE_OFF: tr("cache off"),
    }
    return words.get(kind, "")


def _place_words(miss: CacheMiss) -> tuple[str, ...]:
    """The message that the difference lies in, where it is known."""
    number = f"{miss.number:,}"
    match miss.role:
        case "system":
            return (tr("It begins in the system prompt."),)
        case "user":
            return (tr("It begins in your message {number}.", number=number),)
        case "assistant":
            return (tr("It begins in answer {number}.", number=number),)
        case _:
            return ()


def _miss_words(miss: CacheMiss) -> str:
    sentences = {
        MissKind.FIRST_TURN: tr(
            "This is the chat's first turn since the model was loaded, so the cache held no more."
        ),
        MissKind.TEXT_CHANGED: tr(
            "From token {position} on the prompt differs from the last one, by an edit, another "
            "branch or system prompt, messages left out, or the model's template: {lost} tokens "
            "were read anew.",
            position=f"{miss.position:,}",
            lost=f"{miss.num_lost:,}",
        ),
        MissKind.EVICTED: tr(
            "From token {position} on other chats needed the room in the cache: {lost} tokens "
            "were read anew. A larger KV cache budget keeps more.",
            position=f"{miss.position:,}",
            lost=f"{miss.num_lost:,}",
        ),
        MissKind.MODEL_CHANGED: tr(
            "Another model read the chat before: {lost} tokens were read anew.",
            lost=f"{miss.num_lost:,}",
        ),
        MissKind.PRECISION_CHANGED: tr(
            "The model was loaded with another precision since: {lost} tokens were read anew.",
            lost=f"{miss.num_lost:,}",
        ),
        MissKind.RELOADED: tr(
            "The model was loaded again since: {lost} tokens were read anew.",
            lost=f"{miss.num_lost:,}",
        ),
        MissKind.SHORT: tr("What both prompts share is too short to be kept."),
        MissKind.CACHE_OFF: tr("The cache of earlier prompts is off: everything is read anew."),
    }
    return sentences[miss.kind]


def stages(timeline: Timeline) -> tuple[Stage, ...]:
    """The parts of the bar in the order they happened; choosing a token belongs to prefill."""
    return (
        Stage("stage_queue", tr("queue"), timeline.queue_ns),
        Stage("stage_load", tr("model load"), timeline.load_wait_ns),
        Stage("stage_tokenize", tr("tokenise"), timeline.tokenize_ns),
        Stage("stage_prefill", tr("prefill"), timeline.prefill_ns + timeline.sample_ns),
        Stage("stage_decode", tr("decode"), timeline.last_token_ns - timeline.first_token_ns),
        Stage("stage_paint", tr("first paint"), timeline.paint_ns or 0),
    )


def describe_stages(timeline: Timeline) -> str:
    """The bar in words: "prefill 120 ms · decode 1.2 s"."""
    return SEPARATOR.join(
        f"{stage.name} {duration(stage.duration_ns)}"
        for stage in stages(timeline)
        if stage.duration_ns > 0
    )
