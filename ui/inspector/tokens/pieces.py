"""How a token is written for a reader: white space made visible, broken characters as bytes.

Pure functions of tokens; no widget.
"""

from collections.abc import Sequence
from typing import Final

from engine.api import InspectedToken, TokenChoice, TokenOrigin
from ui.i18n import tr, tr_n

LONGEST: Final = 48  # characters of a chip
_VISIBLE: Final = str.maketrans({" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍"})


def shown_piece(token: InspectedToken | TokenChoice) -> str:
    """A token's text on one line, never empty and never too long for a chip."""
    if not token.data:
        return f"[{token.token_id}]"
    text = token.data.decode("utf-8", "backslashreplace").translate(_VISIBLE)
    if not text.isprintable():
        text = "".join(map(_seen, text))
    if len(text) > LONGEST:
        half = LONGEST // 2 - 1
        text = f"{text[:half]}…{text[-half:]}"
    return text


def quoted(token: InspectedToken | TokenChoice) -> str:
    """A token's text between marks; special ones as they are."""
    piece = shown_piece(token)
    return piece if token.is_special else tr("\u201c{words}\u201d", words=piece)


def ends_line(token: InspectedToken) -> bool:
    """Whether the text goes on in a new line behind it."""
    return b"\n" in token.data and not token.is_special


def origin_words(token: InspectedToken) -> str:
    """Whose token it is."""
    return {
        TokenOrigin.TEMPLATE: tr("chat template"),
        TokenOrigin.SYSTEM: tr("system prompt"),
        TokenOrigin.USER: tr("your message"),
        TokenOrigin.ASSISTANT: tr("earlier answer"),
        TokenOrigin.ANSWER: tr("this answer"),
    }[token.origin]


def hex_bytes(data: bytes) -> str:
    """Bytes as pairs of hexadecimal digits."""
    return data.hex(" ").upper()


def percent(share: float) -> str:
    """A probability: "31.2%", "0.04%", "<0.01%"."""
    value = share * 100
    if value >= 99.95 or value == 0:
        return f"{value:.0f}%"
    if value >= 1:
        return f"{value:.1f}%"
    return f"{value:.2f}%" if value >= 0.01 else "<0.01%"


def read_out(token: InspectedToken) -> str:
    """A token in a line."""
    words = [quoted(token), tr("id {number}", number=token.token_id)]
    if token.is_special:
        words.append(tr("special"))
    words.append(origin_words(token))
    if token.probability is not None and token.entropy is not None:
        words.append(percent(token.probability))
        words.append(tr("{number} bits", number=f"{token.entropy:.2f}"))
    return " · ".join(words)


def whole_sentence(tokens: Sequence[InspectedToken]) -> str:
    """The prompt and the answer in words, for whoever does not see the tint."""
    answer = [token for token in tokens if token.origin is TokenOrigin.ANSWER]
    num_prompt = len(tokens) - len(answer)
    words = tr(
        "{prompt} in the prompt, {answer} in the answer.",
        prompt=tr_n("{n} token", "{n} tokens", num_prompt),
        answer=tr_n("{n} token", "{n} tokens", len(answer)),
    )
    scored = [
        (token.probability, place)
        for place, token in enumerate(answer)
        if token.probability is not None
    ]
    if not scored:
        return words
    mean = sum(probability for probability, _ in scored) / len(scored)
    least, place = min(scored)
    return f"{words} " + tr(
        "The model gave its tokens {mean} on average; the least probable is {token} with {least}.",
        mean=percent(mean),
        token=quoted(answer[place]),
        least=percent(least),
    )


def _seen(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code > 0xFF else f"\\x{code:02x}"
