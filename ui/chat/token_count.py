"""What the composer says about the length of a message. Pure functions of the figures."""

from dataclasses import dataclass

from ui.i18n import tr, tr_n

_NEAR = 0.9
_CHARACTERS_A_TOKEN = 4.0
_WIDE_FROM = "\u2e80"
_TOKENS_A_WIDE_CHARACTER = 0.8


@dataclass(frozen=True, slots=True)
class CountWords:
    """The label's text, and whether it warns."""

    text: str
    is_warning: bool = False


def estimate_tokens(text: str) -> int:
    """A rough count while the engine has not counted: four letters a token, wide ones alone."""
    wide = sum(character >= _WIDE_FROM for character in text)
    narrow = len(text) - wide
    return round(narrow / _CHARACTERS_A_TOKEN + wide * _TOKENS_A_WIDE_CHARACTER)


def count_words(text: str, count: int | None, limit: int | None, used: int) -> CountWords:
    """Words for a message of ``count`` tokens (None: estimated) after ``used`` ones."""
    tokens = estimate_tokens(text) if count is None else count
    mark = "~" if count is None and text else ""
    shown = mark + tr_n("{n} token", "{n} tokens", tokens)
    if limit is None:
        return CountWords(shown)
    total = used + tokens
    if total > limit:
        words = tr(
            "{count} \u00b7 {over} too many for the context of {limit}",
            count=shown,
            over=mark + f"{total - limit:,}",
            limit=f"{limit:,}",
        )
        return CountWords(words, is_warning=True)
    if total >= _NEAR * limit:
        words = tr(
            "{count} \u00b7 {left} left in the context", count=shown, left=f"{limit - total:,}"
        )
        return CountWords(words, is_warning=True)
    return CountWords(shown)
