"""What the composer says about the length of a message. Pure functions of the figures."""

from dataclasses import dataclass

from ui.i18n import tr, tr_n

_NEAR = 0.9
_CHARACTERS_A_TOKEN = 4.0
_WIDE_FROM = "\u2e80"
_TOKENS_A_WIDE_CHARACTER = 0.8


@dataclass(frozen=True, slots=True)
class CountWords:
    """The label's text, and whether it warns of a failure, or only gives notice."""

    text: str
    is_warning: bool = False
    is_notice: bool = False


@dataclass(frozen=True, slots=True)
class ContextUse:
    """What a message meets. ``limit``: the context, in tokens; None: no model is loaded.

    ``used``: tokens of the conversation before the message. ``prompt``: those of everything that
    would be sent, the message included, as the engine counted it; None: not counted.
    ``leaves_out``: where that is too much, earlier messages give way.
    """

    limit: int | None = None
    used: int = 0
    prompt: int | None = None
    leaves_out: bool = False


def estimate_tokens(text: str) -> int:
    """A rough count while the engine has not counted: four letters a token, wide ones alone."""
    wide = sum(character >= _WIDE_FROM for character in text)
    narrow = len(text) - wide
    return round(narrow / _CHARACTERS_A_TOKEN + wide * _TOKENS_A_WIDE_CHARACTER)


def count_words(text: str, count: int | None, use: ContextUse) -> CountWords:
    """Words for a message of ``count`` tokens (None: estimated)."""
    tokens = estimate_tokens(text) if count is None else count
    is_exact = count is not None or not text
    mark = "" if is_exact else "~"
    shown = mark + tr_n("{n} token", "{n} tokens", tokens)
    if use.limit is None:
        return CountWords(shown)
    total = use.used + tokens if use.prompt is None or not is_exact else use.prompt
    over = total - use.limit + 1  # the answer needs a place, too
    if over > 0 and use.leaves_out and tokens < use.limit:
        words = tr(
            "{count} \u00b7 the context is full: earlier messages will be left out", count=shown
        )
        return CountWords(words, is_notice=True)
    if over > 0:
        if use.leaves_out:  # even alone it has no place
            over = tokens - use.limit + 1
        words = tr(
            "{count} \u00b7 {over} too many for the context of {limit}",
            count=shown,
            over=(mark or ("~" if use.prompt is None and use.used else "")) + f"{over:,}",
            limit=f"{use.limit:,}",
        )
        return CountWords(words, is_warning=True)
    if total >= _NEAR * use.limit:
        words = tr(
            "{count} \u00b7 {left} left in the context",
            count=shown,
            left=f"{use.limit - total:,}",
        )
        return CountWords(words, is_warning=True)
    return CountWords(shown)
