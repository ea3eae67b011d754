"""Messages as rows and as a prompt."""

from app.controllers.rows import num_context_tokens, num_turns, prompt_of, row_of
from app.conversations import ChatMessage, MessageTree
from engine.api import Failure, FinishReason, Message, Timeline
from ui.chat.rows import MessageStatus

TIMELINE = Timeline(1, 2, 3, 4, 50, 60, 900, 0, 12, 4, 7)


def question(message_id, text, parent_id=None):
    return ChatMessage(message_id, 1, parent_id, "user", text)


def answer(message_id, text, parent_id, **more):
    return ChatMessage(message_id, 1, parent_id, "assistant", text, **more)


def test_a_prompt_alternates():
    path = [
        question(1, "a"),
        answer(2, "", 1, status=MessageStatus.FAILED),
        question(3, "b", 2),
        answer(4, "c", 3),
        question(5, "d", 4),
        answer(6, "", 5, status=MessageStatus.STREAMING),
    ]
    assert prompt_of(path, "  ") == (
        Message("user", "a\n\nb"),
        Message("assistant", "c"),
        Message("user", "d"),
    )
    assert prompt_of(path[:1], "Be kind.")[0] == Message("system", "Be kind.")


def test_a_question_that_was_too_long_is_in_no_later_prompt():
    refused = Failure("prompt_too_long", "Too long.")
    path = [
        question(1, "a"),
        answer(2, "b", 1),
        question(3, "far too long", 2),
        answer(4, "", 3, status=MessageStatus.FAILED, failure=refused),
        question(5, "c", 4),
        answer(6, "", 5, status=MessageStatus.STREAMING),
    ]
    assert prompt_of(path, "") == (
        Message("user", "a"),
        Message("assistant", "b"),
        Message("user", "c"),
    )
    assert prompt_of(path[:3], "")[-1] == Message("user", "far too long")  # asked again


def test_a_row_knows_its_version_and_its_failure():
    failed = answer(
        3,
        "x",
        1,
        status=MessageStatus.FAILED,
        failure=Failure("strange", "Odd."),
        reason=FinishReason.FAILED,
        timeline=TIMELINE,
    )
    tree = MessageTree([question(1, "q"), answer(2, "a", 1), failed])
    row = row_of(failed, tree)
    assert (row.version, row.num_versions, row.failure) == (2, 2, "Odd.")
    assert row.stats.timeline is TIMELINE
    assert row_of(tree[2], tree).stats is None


def test_context_and_turns():
    path = [question(1, "q"), answer(2, "a", 1, timeline=TIMELINE), question(3, "r", 2)]
    assert num_context_tokens(path) == 19
    assert num_turns(path) == 2
    assert num_context_tokens([]) == 0
