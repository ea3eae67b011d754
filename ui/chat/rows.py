"""The records the chat page shows. Plain values; the controller makes them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from engine.api import FinishReason, LeftOut, Timeline


class MessageStatus(StrEnum):
    """COMPLETE: whole. STREAMING: growing. PARTIAL: its engine died before the end. FAILED."""

    COMPLETE = "complete"
    STREAMING = "streaming"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AnswerStats:
    """What the quiet line under an answer is made of."""

    timeline: Timeline
    reason: FinishReason


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What a model said to itself before it answered, its tokens, and the time they took."""

    text: str
    num_tokens: int = 0
    duration_ns: int = 0


@dataclass(frozen=True, slots=True)
class MessageRow:
    """One shown message. ``version`` of ``num_versions`` counts from 1 (2 of 3, say).

    ``failure`` is one translated sentence, shown inside the message; ``stats`` None: not known.
    ``guessed``: the ranges (start, end) of ``text`` that were guessed ahead, where that is known.
    ``left_out``: what of the conversation an answer does not see.
    """

    message_id: int
    role: Literal["user", "assistant"]
    text: str
    status: MessageStatus = MessageStatus.COMPLETE
    stats: AnswerStats | None = None
    reason: FinishReason | None = None
    failure: str | None = None
    version: int = 1
    num_versions: int = 1
    reasoning: Reasoning | None = None
    guessed: tuple[tuple[int, int], ...] = ()
    left_out: LeftOut | None = None
