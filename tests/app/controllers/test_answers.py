"""Reasoning and guesses of an answer: kept, stored, shown, and not sent back."""

import pytest
from PySide6.QtGui import QGuiApplication

from app.controllers.answers import Thought
from engine.api import FinishReason, TokensProduced
from tests.helpers.fake_engine import Script
from ui.chat.rows import MessageStatus, Reasoning

THINKING = Script(thoughts=("The moon ", "pulls. "), pieces=("Two ", "tides."))


@pytest.fixture
def desk(make_desk):
    return make_desk(THINKING).begin()


def test_a_reasoning_is_shown_stored_and_restored(make_desk):
    desk = make_desk(THINKING).begin()
    desk.send("Why?")
    desk.play()
    (_question, answer) = desk.rows
    assert answer.text == "Two tides."
    assert answer.reasoning.text == "The moon pulls. "
    assert answer.reasoning.num_tokens == 2
    assert answer.reasoning.duration_ns > 0
    assert desk.stored()[1].reasoning == answer.reasoning
    desk.close()

    again = make_desk(THINKING).begin()
    again.chat.open(again.listed_ids[0])
    assert again.rows[1].reasoning == answer.reasoning
    assert again.store.search("pulls") == []
    assert again.store.search("tides") == [again.listed_ids[0]]


def test_a_reasoning_is_not_sent_back(desk):
    desk.send("Why?")
    desk.play()
    desk.send("And when?")
    desk.play()
    sent = desk.engine.requests[-1].messages
    assert [message.content for message in sent] == ["Why?", "Two tides.", "And when?"]


def test_copying_an_answer_leaves_its_reasoning(desk):
    desk.send("Why?")
    desk.play()
    desk.page.resize(800, 600)
    desk.window.show()
    desk.wait(lambda: list(desk.page.messages.entries)[1].item is not None)
    item = list(desk.page.messages.entries)[1].item
    item._copy.click()
    assert QGuiApplication.clipboard().text() == "Two tides."
    item.thought.copy.click()
    assert QGuiApplication.clipboard().text() == "The moon pulls. "


def test_a_stop_while_it_thinks_keeps_the_reasoning(desk):
    desk.send("Why?")
    desk.step(3)  # tokenised, prefilled, a thought
    assert desk.rows[1].reasoning.text == "The moon "
    assert desk.rows[1].status is MessageStatus.STREAMING
    desk.chat.stop()
    desk.play()
    (row,) = desk.rows[1:]
    assert (row.text, row.reasoning.text) == ("", "The moon ")
    assert row.reason is FinishReason.CANCELLED
    desk.page.continue_requested.emit(row.message_id)
    desk.play()
    assert desk.rows[1].text == "Two tides."
    assert desk.rows[1].reasoning.text == "The moon pulls. "


def test_the_first_visible_character_may_be_of_the_reasoning(desk):
    desk.window.show()
    desk.send("Why?")
    desk.step(3)
    answers = desk.application.controllers.answers
    conversation = desk.chat.open_chat.conversation_id
    desk.wait(lambda: answers.live_in(conversation).first_paint_ns is not None)
    assert desk.rows[1].text == ""
    desk.play()
    timeline = desk.rows[1].stats.timeline
    assert timeline.first_paint_ns == timeline.first_token_ns + timeline.paint_ns


def test_guessed_ranges_follow_the_text_and_the_tint_is_a_switch(make_desk):
    desk = make_desk(Script(pieces=("Two ", "tides ", "a day."), guessed=((0, 3),))).begin()
    desk.window.show()
    desk.send("Why?")
    desk.play()
    assert desk.rows[1].guessed == ((0, 3), (4, 7), (10, 13))
    desk.wait(lambda: list(desk.page.messages.entries)[1].item is not None)
    item = list(desk.page.messages.entries)[1].item

    def tinted():
        (view,) = item.body.parts
        return [view.shown_text()[start:end] for start, end in view.marks]

    assert tinted() == []
    assert "Show what was guessed ahead" in [b.accessibleName() for b in item.shown_actions()]
    desk.window.tint_requested.emit()
    assert tinted() == ["Two tid", "a d"]
    item._guessed.click()
    assert tinted() == []


def test_tokens_held_back_count_with_the_text_they_become():
    thought = Thought()
    thought.take(TokensProduced("r", "", (1,), (100,), reasoning="A", num_reasoning=1))
    thought.take(TokensProduced("r", "", (2, 3), (200, 300), reasoning="é", num_reasoning=4))
    thought.take(TokensProduced("r", "", (), (), reasoning="."))
    assert thought.present == Reasoning("Aé.", 5, 200)
