"""Other versions of a message: nothing is destroyed, and each branch is found again."""

from dataclasses import replace

import pytest

from app.controllers.branches import BranchController
from app.store.errors import StoreFullError
from engine.api import FinishReason, Message
from tests.helpers.fake_engine import Script
from ui.chat.rows import MessageStatus

ANSWER = "Hello, world."


def first_conversation(desk):
    return desk.store.conversations()[0].conversation_id


def test_regenerate_is_another_version_and_versions_turn(make_desk):
    desk = make_desk(Script(answers=(("first",), ("second",)))).begin()
    desk.send("Hi")
    desk.play()
    desk.page.regenerate_requested.emit(desk.rows[1].message_id)
    desk.play()
    row = desk.rows[1]
    assert (row.text, row.version, row.num_versions) == ("second", 2, 2)
    assert len(desk.stored()) == 3
    desk.page.version_requested.emit(row.message_id, 1)
    assert (desk.texts, desk.rows[1].version) == (["Hi", "first"], 1)
    desk.page.version_requested.emit(desk.rows[1].message_id, 0)
    desk.page.version_requested.emit(desk.rows[1].message_id, 3)
    assert desk.rows[1].version == 1
    desk.chat.open(first_conversation(desk))
    assert desk.texts == ["Hi", "first"]


def test_editing_a_question_grows_a_branch_and_destroys_nothing(make_desk):
    script = Script(answers=(("one",), ("two",), ("three",)))
    desk = make_desk(script).begin()
    for question in ("a", "b"):
        desk.send(question)
        desk.play()
    desk.page.edit_requested.emit(desk.rows[0].message_id, "A")
    desk.play()
    assert desk.texts == ["A", "three"]
    assert (desk.rows[0].version, desk.rows[0].num_versions) == (2, 2)
    assert desk.engine.requests[2].messages == (Message("user", "A"),)
    desk.page.version_requested.emit(desk.rows[0].message_id, 1)
    assert desk.texts == ["a", "one", "b", "two"]


def test_editing_an_answer_computes_nothing(desk):
    desk.send("Hi")
    desk.play()
    desk.page.edit_requested.emit(desk.rows[1].message_id, "my own words")
    assert desk.texts == ["Hi", "my own words"]
    assert desk.rows[1].num_versions == 2
    assert len(desk.engine.requests) == 1
    desk.send("next")
    desk.play()
    assert Message("assistant", "my own words") in desk.engine.requests[1].messages


def test_continue_goes_on_in_the_same_message(make_desk):
    script = Script(answers=(("The sky",), (" is blue.",)), reason=FinishReason.MAX_TOKENS)
    desk = make_desk(script).begin()
    desk.send("Hi")
    desk.play()
    desk.page.continue_requested.emit(desk.rows[1].message_id)
    assert desk.rows[1].status is MessageStatus.STREAMING
    desk.play()
    assert desk.texts == ["Hi", "The sky is blue."]
    assert desk.engine.requests[1].messages[-1] == Message("assistant", "The sky")
    assert desk.stored()[1].content == "The sky is blue."


def test_nothing_branches_while_an_answer_streams(desk):
    desk.send("Hi")
    desk.step(4)
    answer = desk.rows[1].message_id
    desk.page.regenerate_requested.emit(answer)
    desk.page.continue_requested.emit(answer)
    desk.page.edit_requested.emit(answer, "x")
    desk.page.edit_requested.emit(desk.rows[0].message_id, "x")
    assert len(desk.stored()) == 2


def test_a_branch_waits_for_the_answer_and_belongs_to_answers(desk):
    desk.send("Hi")
    desk.step(4)
    branches = desk.window.findChild(BranchController)
    question, answer = (row.message_id for row in desk.rows)
    branches.branch(answer, "x", ends=False)
    desk.play()
    branches.branch(question, "x", ends=True)
    assert len(desk.stored()) == 2
    branches.branch(answer, "Hell", ends=True)
    assert desk.texts == ["Hi", "Hell"]


@pytest.mark.parametrize("status", [MessageStatus.PARTIAL, MessageStatus.COMPLETE])
def test_regenerate_works_on_any_ended_answer(desk, status):
    desk.send("Hi")
    desk.play()
    desk.store.save_messages([replace(desk.stored()[1], status=status)])
    desk.chat.open(desk.chat.open_chat.conversation_id)
    desk.page.regenerate_requested.emit(desk.rows[1].message_id)
    desk.play()
    assert desk.rows[1].num_versions == 2


def test_a_full_disk_leaves_the_answer_as_it_was(desk, monkeypatch):
    desk.send("Hi")
    desk.play()

    def full(*_arguments):
        raise StoreFullError("The disk is full.")

    for name in ("add_answer", "add_message", "save_messages"):
        monkeypatch.setattr(desk.store, name, full)
    answer = desk.rows[1]
    desk.page.regenerate_requested.emit(answer.message_id)
    desk.page.edit_requested.emit(answer.message_id, "mine")
    desk.page.continue_requested.emit(answer.message_id)
    assert desk.rows[1] == answer
    assert len(desk.notices) == 3
    assert not desk.chat.is_busy
    assert len(desk.engine.requests) == 1
