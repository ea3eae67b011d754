"""Stored messages as the rows a page shows, and as the messages an engine reads."""

from collections.abc import Sequence

from app.controllers.failures import words_for
from app.conversations import ChatMessage, MessageTree
from engine.api import Message
from ui.chat.rows import AnswerStats, MessageRow


def row_of(message: ChatMessage, tree: MessageTree) -> MessageRow:
    """One message with its place among its versions; the failure in the reader's language."""
    versions = tree.versions(message.message_id)
    stats = None
    if message.timeline is not None and message.reason is not None:
        stats = AnswerStats(message.timeline, message.reason)
    return MessageRow(
        message_id=message.message_id,
        role=message.role,
        text=message.content,
        status=message.status,
        stats=stats,
        reason=message.reason,
        failure=None if message.failure is None else words_for(message.failure),
        version=versions.index(message.message_id) + 1,
        num_versions=len(versions),
    )


def prompt_of(path: Sequence[ChatMessage], system_prompt: str) -> tuple[Message, ...]:
    """The messages of a path as the model reads them.

    An answer that never got a word is left out, and two questions that meet so become one: most
    chat templates want the roles to alternate.
    """
    prompt: list[Message] = []
    if system_prompt.strip():
        prompt.append(Message("system", system_prompt))
    for message in path:
        if not message.content:
            continue
        if prompt and prompt[-1].role == message.role:
            joined = f"{prompt[-1].content}\n\n{message.content}"
            prompt[-1] = Message(message.role, joined)
        else:
            prompt.append(Message(message.role, message.content))
    return tuple(prompt)


def num_context_tokens(path: Sequence[ChatMessage]) -> int:
    """Tokens of the conversation so far, as counted with its latest measured answer."""
    for message in reversed(path):
        if message.timeline is not None:
            return message.timeline.num_prompt_tokens + message.timeline.num_output_tokens
    return 0


def num_turns(path: Sequence[ChatMessage]) -> int:
    """Questions asked on a path."""
    return sum(message.role == "user" for message in path)
