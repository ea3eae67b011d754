"""Looking into the model at the length of an answer."""

import pytest

from engine.api import ModelProfiled, ProfileModel
from tests.helpers.fake_engine import Script
from tests.ui.inspector.answer.test_passes import PROFILE
from ui.inspector.answer.view import AnswerView


@pytest.fixture
def desk(make_desk):
    return make_desk(Script(num_prompt_tokens=12)).begin()


@pytest.fixture
def section(desk):
    return desk.window.findChild(AnswerView).profile


def _answer(desk, text="Hi"):
    desk.send(text)
    desk.play()
    return desk.rows[-1].message_id


def _asked(desk):
    desk.play()
    return [command for command in desk.engine.small if isinstance(command, ProfileModel)]


def test_the_model_is_looked_into_as_the_answer_met_it(desk, section):
    _answer(desk)
    section._button.click()
    (asked,) = _asked(desk)
    line = desk.stored()[-1].timeline
    assert asked.prompt_tokens == line.num_prompt_tokens
    assert asked.context == line.num_prompt_tokens + line.num_output_tokens
    assert not section._button.isEnabled()
    desk.application.services.bridge.model_profiled.emit(ModelProfiled(asked.ticket, PROFILE))
    assert "FFN" in section.text
    assert section._button.isEnabled()


def test_a_profile_of_somebody_else_is_not_shown(desk, section):
    _answer(desk)
    section._button.click()
    desk.application.services.bridge.model_profiled.emit(ModelProfiled(999, PROFILE))
    assert section.text == "The model runs\u2026"


def test_another_answer_has_none_yet(desk, section):
    _answer(desk)
    section._button.click()
    (asked,) = _asked(desk)
    _answer(desk, "More")
    assert section.text == ""
    assert section._button.isEnabled()
    desk.application.services.bridge.model_profiled.emit(ModelProfiled(asked.ticket, PROFILE))
    assert section.text == ""


def test_a_profile_that_was_given_up_is_told(desk, section):
    _answer(desk)
    section._button.click()
    (asked,) = _asked(desk)
    event = ModelProfiled(asked.ticket, None, "It was given up.")
    desk.application.services.bridge.model_profiled.emit(event)
    assert section.text.endswith("Ask again.")


def test_without_a_model_or_an_answer_nothing_is_asked(desk, section):
    section.wanted.emit()
    assert _asked(desk) == []
    desk.window.unload_model_requested.emit()
    desk.play()
    assert not section._button.isEnabled()
