"""Tokens of a short prompt and its answer, as the engine tells of them."""

from engine.api import InspectedToken, TokenChoice, TokenOrigin

TEMPLATE, USER, ANSWER = TokenOrigin.TEMPLATE, TokenOrigin.USER, TokenOrigin.ANSWER


def choice(data: bytes, probability: float, token_id: int = 0, *, is_special=False) -> TokenChoice:
    return TokenChoice(token_id, data.decode("utf-8", "replace"), probability, data, is_special)


def plain(data: bytes, origin: TokenOrigin, *, start: int = 0, is_special=False) -> InspectedToken:
    return InspectedToken(len(data), data, start, origin, is_special)


def scored(
    data: bytes, probability: float, entropy: float, *others: TokenChoice
) -> InspectedToken:
    own = choice(data, probability, 50)
    found = tuple(sorted((own, *others), key=lambda c: -c.probability))
    return InspectedToken(50, data, 9, ANSWER, False, probability, entropy, found)


def some_tokens() -> tuple[InspectedToken, ...]:
    """<|s|>, two words of a question, and an answer of three tokens: "Yes, sir"."""
    return (
        plain(b"<|s|>", TEMPLATE, is_special=True),
        plain(b"Is", USER, start=5),
        plain(b" it\n", USER, start=7),
        scored(b"Yes", 0.75, 1.5, choice(b"No", 0.125, 7)),
        scored(b",", 0.25, 3.0, choice(b"<|e|>", 0.5, 2, is_special=True)),
        scored(b" sir", 0.0625, 6.0, choice(b"\xe4\xbd", 0.125, 9)),
    )
