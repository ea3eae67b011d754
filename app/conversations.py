"""Conversations as plain values: a tree of messages with one path shown. No Qt, no database.

Editing a message or asking for another answer never destroys: it grows a branch. ::

    user 1 ── answer 2 ── user 3 ── answer 4
                     └─── user 5 ── answer 6        active leaf 6: the path 1 2 5 6 is shown,
                                                    and message 5 is version 2 of 2
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from engine.api import Failure, FinishReason, Timeline
from ui.chat.rows import MessageStatus, Reasoning

TITLE_LENGTH = 40


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation without its messages. Times are seconds since the epoch.

    ``active_leaf`` is the last message of the shown path; None while there is no message.
    """

    conversation_id: int
    title: str
    updated_at: float
    draft: str = ""
    active_leaf: int | None = None
    system_prompt: str | None = None


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message as it is stored. ``model`` names what wrote an answer.

    ``guessed`` alone is not stored: the ranges of ``content`` that were guessed ahead, known while
    the conversation that it was written in stays open.
    """

    message_id: int
    conversation_id: int
    parent_id: int | None
    role: Literal["user", "assistant"]
    content: str
    status: MessageStatus = MessageStatus.COMPLETE
    reason: FinishReason | None = None
    timeline: Timeline | None = None
    model: str = ""
    failure: Failure | None = None
    reasoning: Reasoning | None = None
    guessed: tuple[tuple[int, int], ...] = ()


class MessageTree:
    """The messages of one conversation by their parents.

    Siblings are the messages under one parent in the order they were made: each is a version.
    """

    def __init__(self, messages: Iterable[ChatMessage] = ()) -> None:
        self._messages: dict[int, ChatMessage] = {}
        self._children: dict[int | None, list[int]] = {}
        for message in messages:
            self.add(message)

    def __contains__(self, message_id: int) -> bool:
        return message_id in self._messages

    def __getitem__(self, message_id: int) -> ChatMessage:
        return self._messages[message_id]

    @property
    def messages(self) -> Mapping[int, ChatMessage]:
        """All messages by id."""
        return self._messages

    def add(self, message: ChatMessage) -> None:
        """Add a message, or put a newer state of it in place."""
        if message.message_id not in self._messages:
            self._children.setdefault(message.parent_id, []).append(message.message_id)
        self._messages[message.message_id] = message

    def path(self, leaf: int | None) -> tuple[ChatMessage, ...]:
        """The messages from the first to ``leaf``; empty for None or an unknown leaf."""
        path: list[ChatMessage] = []
        message = None if leaf is None else self._messages.get(leaf)
        while message is not None:
            path.append(message)
            message = None if message.parent_id is None else self._messages.get(message.parent_id)
        return tuple(reversed(path))

    def versions(self, message_id: int) -> tuple[int, ...]:
        """All versions of a message, itself included, oldest first."""
        return tuple(self._children[self._messages[message_id].parent_id])

    def newest_leaf(self, message_id: int) -> int:
        """The end of the newest branch below a message; the message itself if it is a leaf."""
        while children := self._children.get(message_id):
            message_id = children[-1]
        return message_id


def title_from(text: str) -> str:
    """A conversation's title: the first line of its first message, cut at a word."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if len(line) <= TITLE_LENGTH:
        return line
    head = line[:TITLE_LENGTH]
    at_word = head.rsplit(" ", 1)[0]
    # a text without spaces (Chinese, a long address) is cut where it is
    kept = at_word if len(at_word) > TITLE_LENGTH // 2 else head
    return f"{kept.rstrip()}…"
