"""A prompt and its answer as tokens, and how sure the model was of each."""

from dataclasses import dataclass
from enum import StrEnum

from engine.api.options import Message


class TokenOrigin(StrEnum):
    """What a token stands for. TEMPLATE: the chat template's own text around the messages."""

    TEMPLATE = "template"
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"  # an earlier answer
    ANSWER = "answer"  # the one that is looked at


@dataclass(frozen=True, slots=True)
class TokenChoice:
    """A token that could have been chosen, with the model's probability for it.

    ``data`` and ``is_special`` as of an InspectedToken.
    """

    token_id: int
    text: str
    probability: float
    data: bytes = b""
    is_special: bool = False


@dataclass(frozen=True, slots=True)
class InspectedToken:
    """One token.

    ``data``: its bytes, a part of a character possibly; ``start`` of them in the whole, in bytes.
    ``is_special``: one that stands for no text. The last three only for tokens of the answer:
    the model's own probability (before temperature and filters), the entropy of all choices in
    bits, and the most probable ``alternatives``, itself among them where it is one.
    """

    token_id: int
    data: bytes
    start: int
    origin: TokenOrigin
    is_special: bool = False
    probability: float | None = None
    entropy: float | None = None
    alternatives: tuple[TokenChoice, ...] = ()

    @property
    def text(self) -> str:
        """Its text; what is no whole character is replaced."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class InspectTokens:
    """Command: look at an answer's tokens, by one prefill of everything on the loaded model.

    ``answer_ids`` None: the answer's text is tokenised again, which is nearly always the same, with
    the ``reasoning`` before it. InspectionProgress and TokensInspected follow, and come after
    running answers' steps.
    """

    ticket: int
    messages: tuple[Message, ...]
    answer: str
    answer_ids: tuple[int, ...] | None = None
    num_alternatives: int = 10
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class CancelInspection:
    """Command: nobody waits for the answer to InspectTokens any more; it has no further event."""

    ticket: int


@dataclass(frozen=True, slots=True)
class InspectionProgress:
    """Event: ``num_done`` of ``num_tokens`` have been through the model."""

    ticket: int
    num_done: int
    num_tokens: int


@dataclass(frozen=True, slots=True)
class TokensInspected:
    """Event: the answer to InspectTokens; ``problem`` (a sentence) where there are no tokens.

    ``is_retokenized``: some of the answer's ids were found from its text.
    """

    ticket: int
    tokens: tuple[InspectedToken, ...]
    problem: str = ""
    is_retokenized: bool = False
