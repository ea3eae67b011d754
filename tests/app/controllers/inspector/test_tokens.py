"""Tokens are asked for when they are seen, once, and an answer branches from any of them."""

from dataclasses import replace

import pytest

from app.controllers.inspector.tokens import KEPT, TokensInspector
from engine.api import (
    CancelInspection,
    InspectionProgress,
    InspectTokens,
    LeftOut,
    Message,
    TokensInspected,
)
from tests.helpers.fake_engine import Script
from tests.helpers.inspected_tokens import some_tokens
from tests.helpers.reports import make_report
from ui.inspector.page import InspectorPage
from ui.inspector.tokens.branching import Branch
from ui.inspector.tokens.view import TokensView

ANSWER = "Yes, sir"


class Bench:
    """A desk whose window shows the tokens."""

    def __init__(self, desk):
        self.desk = desk
        self.bridge = desk.application.services.bridge
        self.page = desk.window.findChild(InspectorPage)
        self.view = desk.window.findChild(TokensView)
        self.tokens = desk.window.findChild(TokensInspector)

    def open(self):
        self.page._shown = "tokens"
        self.page.shown_changed.emit("tokens")
        return self

    def hide(self):
        self.page._shown = "answer"
        self.page.shown_changed.emit("answer")

    @property
    def asked(self):
        return [c for c in self.desk.engine.small if isinstance(c, InspectTokens)]

    @property
    def cancelled(self):
        return [c.ticket for c in self.desk.engine.small if isinstance(c, CancelInspection)]

    def ask(self):
        """Let the short wait before a question pass."""
        self.tokens._delay.timeout.emit()
        self.tokens._delay.stop()
        self.desk.step()
        return self.asked[-1]

    def answer(self, command, **changes):
        found = TokensInspected(command.ticket, some_tokens())
        self.bridge.tokens_inspected.emit(replace(found, **changes))


@pytest.fixture
def bench(make_desk):
    desk = make_desk(Script(pieces=(ANSWER,))).begin()
    desk.send("Is it")
    desk.play()
    made = Bench(desk)
    yield made
    made.hide()


def test_nothing_is_asked_before_it_is_seen(bench):
    bench.tokens._show()
    assert not bench.tokens._delay.isActive()
    assert bench.asked == []


def test_the_prompt_and_the_answer_are_asked_for(bench):
    bench.open()
    assert "Computing ~" in bench.view.text
    command = bench.ask()
    assert command.messages == (Message("user", "Is it"),)
    assert (command.answer, command.answer_ids) == (ANSWER, None)
    bench.bridge.inspection_progressed.emit(InspectionProgress(command.ticket, 3, 6))
    assert bench.view.text == "Computing 6 tokens…"
    bench.bridge.inspection_progressed.emit(InspectionProgress(command.ticket + 1, 3, 99))
    assert bench.view.text == "Computing 6 tokens…"
    bench.answer(command, is_retokenized=True)
    assert bench.view.text.startswith("3 tokens in the prompt")
    assert bench.view.note.startswith("~")


def test_the_same_is_not_asked_twice(bench):
    bench.answer(bench.open().ask())
    bench.hide()
    bench.open()
    assert bench.view.text.startswith("3 tokens")
    assert not bench.tokens._delay.isActive()
    assert len(bench.asked) == 1


def test_ids_that_were_seen_are_used(bench):
    message_id = bench.desk.rows[-1].message_id
    info = bench.desk.engine.info
    report = replace(make_report(f"{message_id}.1"), is_complete=True, token_ids=(5, 6, 7))
    bench.bridge.answer_explained.emit(replace(report, model="another"))
    first = bench.open().ask()
    assert first.answer_ids is None
    bench.bridge.answer_explained.emit(replace(report, model=info.name))
    second = bench.ask()
    assert second.answer_ids == (5, 6, 7)
    assert bench.cancelled == [first.ticket]
    bench.answer(first)
    assert "Computing" in bench.view.text


def test_what_the_prompt_left_out_is_left_out_again(make_desk):
    script = Script(pieces=(ANSWER,), left_out=LeftOut(0, 2, 9))
    desk = make_desk(script).begin()
    for question in ("one", "two"):
        desk.send(question)
        desk.play()
    bench = Bench(desk).open()
    assert bench.ask().messages == (Message("user", "two"),)
    bench.hide()


def test_a_growing_answer_is_waited_for(bench):
    bench.open()
    bench.ask()
    bench.desk.send("More")
    bench.desk.step(3)
    assert "being written" in bench.view.text
    assert len(bench.cancelled) == 1
    bench.desk.play()
    assert "Computing ~" in bench.view.text
    assert bench.ask().messages[-1] == Message("user", "More")


def test_hiding_gives_up(bench):
    command = bench.open().ask()
    bench.hide()
    bench.desk.step()
    assert bench.cancelled == [command.ticket]
    bench.answer(command)
    bench.open()
    assert "Computing ~" in bench.view.text


def test_stopping_and_beginning_anew(bench):
    command = bench.open().ask()
    bench.view.computing.button.click()
    bench.desk.step()
    assert bench.cancelled == [command.ticket]
    assert bench.view.text == "Stopped."
    bench.tokens._show()
    assert bench.view.text == "Stopped."
    bench.view.computing.button.click()
    assert "Computing ~" in bench.view.text
    assert bench.ask().ticket != command.ticket


def test_a_problem_is_said_and_can_be_tried_again(bench):
    bench.answer(bench.open().ask(), tokens=(), problem="It does not fit.")
    assert bench.view.text == "It does not fit."
    bench.view.computing.button.click()
    assert "Computing ~" in bench.view.text


def test_an_answer_in_another_chat_goes_first(bench):
    desk = bench.desk
    first = desk.chat.open_chat.conversation_id
    desk.chat.open(None)
    desk.send("Elsewhere")
    desk.step(2)
    desk.chat.open(first)
    bench.open()
    assert "after the answer being written" in bench.view.text
    assert bench.ask().answer == ANSWER
    desk.play()


def test_a_model_that_went_meanwhile_is_asked_again(bench):
    command = bench.open().ask()
    bench.answer(command, tokens=(), problem="The tokens were given up half-way.")
    assert "half-way" in bench.view.text
    bench.desk.application.controllers.model.reload()
    bench.desk.play()
    assert "Computing ~" in bench.view.text
    assert bench.ask().ticket != command.ticket


def test_without_an_answer_or_a_model(make_desk):
    empty = Bench(make_desk(Script()).begin()).open()
    assert "Ask something" in empty.view.text
    empty.hide()


def test_a_model_that_is_gone(bench):
    bench.answer(bench.open().ask())
    bench.bridge.unload()
    bench.desk.play()
    assert "Load a model" in bench.view.text


def test_another_models_answer_says_so(bench):
    chat = bench.desk.chat.open_chat
    message = chat.tree[bench.desk.rows[-1].message_id]
    chat.update(replace(message, model="Somebody Else"))
    bench.answer(bench.open().ask())
    assert bench.view.note.startswith("Somebody Else wrote this answer")


def test_only_so_many_are_kept(bench):
    bench.open()
    for number in range(KEPT + 3):
        question = bench.tokens._question(bench.tokens._inspected.message)
        bench.tokens._asked = replace(question, answer=str(number))
        bench.tokens._ticket = number
        bench.answer(InspectTokens(number, (), ""))
    assert len(bench.tokens._kept) == KEPT


def test_going_on_from_another_choice(bench):
    desk = bench.desk
    bench.answer(bench.open().ask())
    bench.view.details.branch_wanted.emit(Branch("No", ends=False))
    desk.play()
    row = desk.rows[-1]
    assert (row.text, row.version, row.num_versions) == (f"No{ANSWER}", 2, 2)
    assert desk.engine.requests[-1].messages[-1] == Message("assistant", "No")
    assert [message.content for message in desk.stored()][1:] == [ANSWER, f"No{ANSWER}"]


def test_ending_an_answer_early_computes_nothing(bench):
    desk = bench.desk
    bench.answer(bench.open().ask())
    bench.view.details.branch_wanted.emit(Branch("Yes", ends=True))
    row = desk.rows[-1]
    assert (row.text, row.version, row.num_versions) == ("Yes", 2, 2)
    assert len(desk.engine.requests) == 1
