"""What a client asks for: JSON of OpenAI's protocol to one checked value, and nothing else.

Knows `/v1/chat/completions` and `/v1/completions`. What this app has no answer to (tools, pictures,
several choices) is refused rather than left out in silence.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.api import Message, SamplingParams

MAX_STOPS = 16
_ROLES: Mapping[str, Literal["system", "user", "assistant"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
# name -> least, most, and the parameter that it is here
_NUMBERS: Mapping[str, tuple[float, float, str]] = {
    "temperature": (0.0, 2.0, "temperature"),
    "top_p": (0.0, 1.0, "top_p"),
    "min_p": (0.0, 1.0, "min_p"),
    "typical_p": (0.0, 1.0, "typical_p"),
    "presence_penalty": (-2.0, 2.0, "presence_penalty"),
    "frequency_penalty": (-2.0, 2.0, "frequency_penalty"),
    "repetition_penalty": (1.0, 2.0, "repetition_penalty"),
    "repeat_penalty": (1.0, 2.0, "repetition_penalty"),
}
_WHOLE: Mapping[str, tuple[int, int, str]] = {
    "top_k": (0, 1_000_000, "top_k"),
    "seed": (0, 2**63 - 1, "seed"),
    "max_tokens": (1, 2**31, "max_tokens"),
    "max_completion_tokens": (1, 2**31, "max_tokens"),
}
_REFUSED = ("tools", "functions", "tool_choice", "function_call", "logprobs", "audio")


class AskedError(Exception):
    """A request that is not answered: an HTTP status, a sentence, and what it is about."""

    def __init__(self, sentence: str, about: str | None = None, status: int = 400) -> None:
        super().__init__(sentence)
        self.about = about
        self.status = status


@dataclass(frozen=True, slots=True)
class Asked:
    """One answer that a client wants. ``prompt``: plain text, in place of messages."""

    messages: tuple[Message, ...] = ()
    prompt: str | None = None
    changes: tuple[tuple[str, object], ...] = ()
    is_streamed: bool = False
    wants_usage: bool = False

    @property
    def is_chat(self) -> bool:
        """Whether the chat template is used."""
        return self.prompt is None

    def params(self, usual: SamplingParams) -> SamplingParams:
        """The window's settings with what the client asks for in their place.

        The form of an answer and where it stops are the client's alone.
        """
        own = replace(usual, stop=(), json_schema=None)
        return replace(own, **dict(self.changes))  # type: ignore[arg-type]  # checked in read_asked


def read_asked(body: bytes, *, is_chat: bool) -> Asked:
    """Read a request's body. Raises AskedError."""
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise AskedError("The body is not JSON.") from error
    if not isinstance(values, dict):
        raise AskedError("The body is no JSON object.")
    for name in _REFUSED:
        if values.get(name) not in (None, False, [], "none", "auto"):
            raise AskedError(f"This server has no {name}.", name)
    if values.get("n") not in (None, 1):
        raise AskedError("This server gives one choice; ask again for another.", "n")
    options = values.get("stream_options")
    has_usage = isinstance(options, dict) and options.get("include_usage") is True
    return Asked(
        messages=_messages(values.get("messages")) if is_chat else (),
        prompt=None if is_chat else _prompt(values.get("prompt")),
        changes=tuple(_changes(values).items()),
        is_streamed=values.get("stream") is True,
        wants_usage=has_usage,
    )


def _changes(values: Mapping[str, Any]) -> dict[str, object]:
    changes: dict[str, object] = {}
    for name, (least, most, parameter) in _NUMBERS.items():
        if values.get(name) is not None:
            changes[parameter] = float(_number(values, name, least, most))
    for name, (first, last, parameter) in _WHOLE.items():
        if values.get(name) is not None:
            number = _number(values, name, first, last)
            if number != int(number):
                raise AskedError(f"{name} must be a whole number.", name)
            changes[parameter] = int(number)
    if changes.get("top_p") == 0.0:
        changes["top_p"] = 0.01
    if values.get("stop") is not None:
        changes["stop"] = _stops(values["stop"])
    if values.get("logit_bias") is not None:
        changes["logit_bias"] = _biases(values["logit_bias"])
    if values.get("response_format") is not None:
        changes["json_schema"] = _schema(values["response_format"])
    return changes


def _number(values: Mapping[str, Any], name: str, least: float, most: float) -> float:
    value = values[name]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not least <= value <= most:
        raise AskedError(f"{name} must be a number from {least:g} to {most:g}.", name)
    number: float = value
    return number


def _stops(value: object) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or len(stops) > MAX_STOPS:
        raise AskedError(f"stop must be a text, or up to {MAX_STOPS} of them.", "stop")
    return tuple(_text(stop, "stop") for stop in stops if stop != "")


def _biases(value: object) -> tuple[tuple[int, float], ...]:
    if not isinstance(value, dict) or not all(token.isdecimal() for token in value):
        raise AskedError("logit_bias must be an object of token ids.", "logit_bias")
    return tuple((int(token), _number(value, token, -100, 100)) for token in value)


def _schema(value: object) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(value, dict) or kind not in {"text", "json_object", "json_schema"}:
        raise AskedError("response_format has no type that is known here.", "response_format")
    if kind == "text":
        return None
    if kind == "json_object":
        return '{"type": "object"}'
    described = value.get("json_schema")
    schema = described.get("schema") if isinstance(described, dict) else None
    if not isinstance(schema, dict):
        raise AskedError("response_format has no schema.", "response_format")
    return json.dumps(schema)


def _messages(value: object) -> tuple[Message, ...]:
    if not isinstance(value, list) or not value:
        raise AskedError("messages must be a list of at least one message.", "messages")
    return tuple(_message(message) for message in value)


def _message(value: object) -> Message:
    role = value.get("role") if isinstance(value, dict) else None
    known = _ROLES.get(role) if isinstance(role, str) else None
    if not isinstance(value, dict) or known is None:
        raise AskedError("A message has no role that is known here.", "messages")
    content = value.get("content")
    if isinstance(content, list):
        content = "".join(_part(part) for part in content)
    return Message(known, _text(content, "messages"))


def _part(value: object) -> str:
    if not isinstance(value, dict) or value.get("type") != "text":
        raise AskedError("This server reads text, and no other parts of a message.", "messages")
    return _text(value.get("text"), "messages")


def _prompt(value: object) -> str:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    prompt = _text(value, "prompt")
    if not prompt:
        raise AskedError("The prompt is empty.", "prompt")
    return prompt


def _text(value: object, about: str) -> str:
    if not isinstance(value, str) or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise AskedError(f"{about} must be text.", about)
    return value
