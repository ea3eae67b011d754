"""Stored messages as the rows a page shows, and as the messages an engine reads."""

from collections.abc import Sequence
from itertools import zip_longest

from app.controllers.failures import words_for
from app.conversations import ChatMessage, MessageTree
from engine.api import Message
from engine.errors import PromptTooLongError
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
        reasoning=message.reasoning,
        guessed=message.guessed,
        left_out=None if message.timeline is None else message.timeline.left_out,
    )


def prompt_of(path: Sequence[ChatMessage], system_prompt: str) -> tuple[Message, ...]:
    """The messages of a path as the model reads them.

    An answer that never got a word is left out, and two questions that meet so become one: most
    chat templates want the roles to alternate. A question that was refused for its length was not
    sent, and is not sent with a later one either: that would be refused as well.
    """
    prompt: tuple[Message, ...] = ()
    if system_prompt.strip():
        prompt = (Message("system", system_prompt),)
    for message, answer in zip_longest(path, path[1:]):
        if message.content and not _is_refused(answer):
            prompt = _extended(prompt, Message(message.role, message.content))
    return prompt


def _is_refused(answer: ChatMessage | None) -> bool:
    """Whether a question had this in place of an answer, as it was too long."""
    if answer is None or answer.failure is None or answer.content:
        return False
    return answer.failure.code == PromptTooLongError.code


def with_question(prompt: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """The prompt with one more question at its end."""
    return _extended(prompt, Message("user", text))


def _extended(prompt: tuple[Message, ...], message: Message) -> tuple[Message, ...]:
    if prompt and prompt[-1].role == message.role:
        joined = f"{prompt[-1].content}\n\n{message.content}"
        return (*prompt[:-1], Message(message.role, joined))
    return (*prompt, message)


def num_context_tokens(path: Sequence[ChatMessage]) -> int:
    """Tokens of the conversation so far, as counted with its latest measured answer."""
    for message in reversed(path):
        if message.timeline is not None:
            return message.timeline.num_prompt_tokens + message.timeline.num_output_tokens
    return 0


def num_conversation_tokens(path: Sequence[ChatMessage]) -> int:
    """As ``num_context_tokens``, with what the latest answer left out."""
    timeline = next((m.timeline for m in reversed(path) if m.timeline is not None), None)
    left_out = None if timeline is None else timeline.left_out
    return num_context_tokens(path) + (0 if left_out is None else left_out.num_tokens)


def num_turns(path: Sequence[ChatMessage]) -> int:
    """Questions asked on a path."""
    return sum(message.role == "user" for message in path)
