"""What a client is told: an answer's pieces and end as JSON of OpenAI's protocol. Plain values."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.serving.asked import Asked, AskedError
from engine.api import FinishReason, Timeline

_FINISHED: Mapping[FinishReason, str] = {
    FinishReason.MAX_TOKENS: "length",
    FinishReason.CONTEXT_FULL: "length",
}
_STATUS: Mapping[str, int] = {"model_not_loaded": 503, "out_of_memory": 503, "engine_fault": 500}


@dataclass(frozen=True, slots=True)
class Piece:
    """New text of an answer, and of what the model says to itself."""

    text: str
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """The answer is whole."""

    reason: FinishReason
    timeline: Timeline | None


@dataclass(frozen=True, slots=True)
class Refused:
    """There will be no answer, or no more of it. ``code`` is a failure's."""

    sentence: str
    code: str

    @property
    def error(self) -> AskedError:
        """As what the client is told."""
        return AskedError(self.sentence, status=_STATUS.get(self.code, 400))


News = Piece | Done | Refused


class Wording:
    """The texts of one answer: all of them name the same answer and model."""

    def __init__(self, asked: Asked, answer_id: str, model: str) -> None:
        self._asked = asked
        self._base = {"id": answer_id, "created": int(time.time()), "model": model}

    def chunk(self, piece: Piece | None, reason: FinishReason | None = None) -> dict[str, Any]:
        """A part of a streamed answer; its first without a piece, its last with a reason."""
        finished = None if reason is None else _FINISHED.get(reason, "stop")
        if not self._asked.is_chat:
            choice = {"index": 0, "text": piece.text if piece else "", "finish_reason": finished}
            return {**self._base, "object": "text_completion", "choices": [choice]}
        delta: dict[str, str] = {}
        if piece is None and reason is None:
            delta = {"role": "assistant", "content": ""}
        if piece is not None and piece.text:
            delta["content"] = piece.text
        if piece is not None and piece.reasoning:
            delta["reasoning_content"] = piece.reasoning
        choice = {"index": 0, "delta": delta, "finish_reason": finished}
        return {**self._base, "object": "chat.completion.chunk", "choices": [choice]}

    def usage_chunk(self, timeline: Timeline | None) -> dict[str, Any]:
        """The part after the last, for a client that wants to know."""
        kind = "chat.completion.chunk" if self._asked.is_chat else "text_completion"
        return {**self._base, "object": kind, "choices": [], "usage": usage(timeline)}

    def whole(self, text: str, reasoning: str, done: Done) -> dict[str, Any]:
        """A whole answer."""
        choice: dict[str, Any] = {
            "index": 0,
            "finish_reason": _FINISHED.get(done.reason, "stop"),
        }
        kind = "text_completion"
        if self._asked.is_chat:
            kind = "chat.completion"
            choice["message"] = {"role": "assistant", "content": text}
            if reasoning:
                choice["message"]["reasoning_content"] = reasoning
        else:
            choice["text"] = text
        return {**self._base, "object": kind, "choices": [choice], "usage": usage(done.timeline)}


def usage(timeline: Timeline | None) -> dict[str, Any] | None:
    """What an answer took, in tokens."""
    if timeline is None:
        return None
    return {
        "prompt_tokens": timeline.num_prompt_tokens,
        "completion_tokens": timeline.num_output_tokens,
        "total_tokens": timeline.num_prompt_tokens + timeline.num_output_tokens,
        "prompt_tokens_details": {"cached_tokens": timeline.num_cached_tokens},
    }


def error_words(error: AskedError) -> dict[str, Any]:
    """Why there is no answer."""
    kind = "server_error" if error.status >= 500 else "invalid_request_error"
    return {"error": {"message": str(error), "type": kind, "param": error.about, "code": None}}


def models(name: str | None) -> dict[str, Any]:
    """The one model, or none."""
    data = [] if name is None else [{"id": name, "object": "model", "owned_by": "local"}]
    return {"object": "list", "data": data}


def event(value: Mapping[str, Any] | str) -> bytes:
    """One server-sent event."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"data: {text}\n\n".encode()
