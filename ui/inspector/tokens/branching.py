"""What an answer's text becomes when another token is chosen at one place. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.api import InspectedToken, TokenChoice, TokenOrigin


class Obstacle(StrEnum):
    """Why an answer cannot go on from a choice.

    PARTIAL: it is a part of a character. REASONING: it lies before the answer's text. EMPTY: it
    stands for no text.
    """

    PARTIAL = "partial"
    REASONING = "reasoning"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Branch:
    """An answer that begins with ``text``; it ``ends`` there where a special token was chosen."""

    text: str
    ends: bool


def branch_at(
    tokens: Sequence[InspectedToken], place: int, choice: TokenChoice, content: str
) -> Branch | Obstacle:
    """The answer up to ``tokens[place]``, with ``choice`` in place of that.

    ``content``: the answer's text, which may lack what its tokens say before it (a reasoning, the
    first space) and behind it (a stop string).
    """
    if not choice.data:
        return Obstacle.EMPTY
    parts = [_text_of(token) for token in tokens]
    whole, before = b"".join(parts), b"".join(parts[:place])
    start, lead = _find(whole, content)
    if len(before) < start:
        if whole[:start].strip():
            return Obstacle.REASONING
        before = whole[:start]  # no more than the space that comes before every text
    chosen = b"" if choice.is_special else choice.data
    said = before[start:]
    if not said and start:
        chosen = chosen.removeprefix(b" ")
    try:
        text = lead + (said + chosen).decode()
    except UnicodeDecodeError:
        return Obstacle.PARTIAL
    return Branch(text, choice.is_special)


def _text_of(token: InspectedToken) -> bytes:
    """What of the answer's text the token is."""
    is_text = token.origin is TokenOrigin.ANSWER and not token.is_special
    return token.data if is_text else b""


def _find(whole: bytes, content: str) -> tuple[int, str]:
    """Where the answer's text begins in what its tokens say, and what it has before that."""
    found = whole.rfind(content.encode())
    if content and found >= 0:
        return found, ""
    text = content.strip()
    found = whole.rfind(text.encode()) if text else -1
    if found >= 0:
        return found, content[: len(content) - len(content.lstrip())]
    return 0, ""
