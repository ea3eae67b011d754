"""Conversations as files that other programs and other computers can read.

Markdown is for people: the shown messages, one way. JSON holds every version and can be read back.
Runs no statement and touches no disk. What a file says is checked before it is believed. ::

    {"format": "tokentide-chats", "version": 1,
     "chats": [{"title": "…", "system_prompt": null, "shown": 2,
                "messages": [{"id": 1, "parent": null, "role": "user", "text": "…"},
                             {"id": 2, "parent": 1, "role": "assistant", "text": "…",
                              "model": "…", "thought": "…", "ended": "end_of_text"}]}]}

Figures of answers stay behind: they belong to the machine that measured them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from app.conversations import ChatMessage, Conversation, MessageTree, title_from
from app.store.errors import StoreError
from engine.api import FinishReason
from ui.chat.rows import MessageStatus, Reasoning

FORMAT = "tokentide-chats"
VERSION = 1
MAX_BYTES = 256 * 2**20

_ROLES: Mapping[str, Literal["user", "assistant"]] = {"user": "user", "assistant": "assistant"}

Chat = tuple[Conversation, list[ChatMessage]]


class ChatFileError(StoreError):
    """A file holds no conversations that can be read. Details: reason."""

    code = "chat_file_unreadable"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"No chat could be read from this file ({reason}). Nothing was changed.",
            reason=reason,
        )


def to_markdown(conversation: Conversation, messages: Iterable[ChatMessage]) -> str:
    """The shown messages, each below a line that says whose it is."""
    parts = [f"# {conversation.title}"]
    if conversation.system_prompt:
        parts.append("\n".join(f"> {line}" for line in conversation.system_prompt.splitlines()))
    for message in MessageTree(messages).path(conversation.active_leaf):
        if message.role == "user":
            parts.append("**User**")
        else:
            parts.append(f"**Assistant** ({message.model})" if message.model else "**Assistant**")
        if message.content:
            parts.append(message.content.strip("\n"))
    return "\n\n".join(parts) + "\n"


def to_json(chats: Sequence[Chat]) -> str:
    """Every message of these conversations."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "chats": [
            {
                "title": conversation.title,
                "system_prompt": conversation.system_prompt,
                "shown": conversation.active_leaf,
                "messages": [_record(message) for message in messages],
            }
            for conversation, messages in chats
        ],
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def from_json(text: str) -> list[Chat]:
    """The conversations of such a text, with the ids they have there. Raises ChatFileError."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ChatFileError("it is not JSON") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ChatFileError("it was not written by this app")
    version = document.get("version")
    if version != VERSION:
        raise ChatFileError(f"it has version {version}, and this app reads {VERSION}")
    return [_chat(chat) for chat in _list(document, "chats")]


def _record(message: ChatMessage) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": message.message_id,
        "parent": message.parent_id,
        "role": message.role,
        "text": message.content,
    }
    if message.model:
        record["model"] = message.model
    if message.reasoning is not None:
        record["thought"] = message.reasoning.text
    if message.reason is not None:
        record["ended"] = message.reason.value
    if message.status is not MessageStatus.COMPLETE:
        record["cut"] = True
    return record


def _chat(chat: Any) -> Chat:
    if not isinstance(chat, dict):
        raise ChatFileError("a chat is no object")
    messages: dict[int, ChatMessage] = {}
    for record in _list(chat, "messages"):
        message = _message(record)
        if message.message_id in messages:
            raise ChatFileError(f"message {message.message_id} comes twice")
        if message.parent_id is not None and message.parent_id not in messages:
            raise ChatFileError(f"message {message.message_id} answers none before it")
        messages[message.message_id] = message
    if not messages:
        raise ChatFileError("a chat has no message")
    shown = chat.get("shown")
    leaf = shown if isinstance(shown, int) and shown in messages else max(messages)
    title = _text(chat, "title") or title_from(next(iter(messages.values())).content)
    prompt = _text(chat, "system_prompt")
    found = Conversation(0, title, 0.0, active_leaf=leaf, system_prompt=prompt)
    return found, list(messages.values())


def _message(record: Any) -> ChatMessage:
    if not isinstance(record, dict):
        raise ChatFileError("a message is no object")
    message_id, parent_id = _id(record, "id"), _id(record, "parent")
    if message_id is None:
        raise ChatFileError("a message has no number")
    role = _ROLES.get(_text(record, "role") or "")
    if role is None:
        raise ChatFileError("a message is neither of the user nor of the assistant")
    text, thought, ended = (_text(record, key) for key in ("text", "thought", "ended"))
    if text is None:
        raise ChatFileError("a message has no text")
    return ChatMessage(
        message_id,
        0,
        parent_id,
        role,
        text,
        status=MessageStatus.PARTIAL if record.get("cut") is True else MessageStatus.COMPLETE,
        reason=FinishReason(ended) if ended in set(FinishReason) else None,
        model=_text(record, "model") or "",
        reasoning=None if thought is None else Reasoning(thought),
    )


def _id(record: dict[str, Any], key: str) -> int | None:
    value = record.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise ChatFileError(f"{key} is no number")
    return value


def _text(record: dict[str, Any], key: str) -> str | None:
    value = record.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ChatFileError(f"{key} is no text")
    return value


def _list(record: dict[str, Any], key: str) -> list[Any]:
    value = record.get(key)
    if not isinstance(value, list):
        raise ChatFileError(f"{key} is no list")
    return value
