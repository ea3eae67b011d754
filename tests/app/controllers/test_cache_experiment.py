"""The experiment asks for one answer twice, and the chat's answers are none of its business."""

import pytest

from tests.helpers.fake_engine import Script
from ui.meters.experiment import CacheExperiment
from ui.meters.live import LiveMeters


@pytest.fixture
def desk(make_desk):
    return make_desk(Script(pieces=("a ",) * 64)).begin()


def dialog_of(desk):
    desk.window.findChild(LiveMeters).experiment_requested.emit()
    return desk.window.findChild(CacheExperiment)


def test_once_with_the_cache_and_once_without(desk):
    dialog = dialog_of(desk)
    assert dialog.isVisible()
    dialog.run_requested.emit(64)
    assert dialog.is_running
    desk.play()
    desk.play()
    first, second = desk.engine.requests
    assert (first.kv_cache, second.kv_cache) == (True, False)
    assert not first.guess_ahead
    assert first.params == second.params
    assert first.params.max_tokens == 64
    assert first.priority < 0
    assert not dialog.is_running
    assert dialog.verdict.startswith("64 tokens took")
    assert desk.texts == []


def test_a_stop_keeps_what_was_measured(desk):
    dialog = dialog_of(desk)
    dialog.run_requested.emit(64)
    desk.step(20)
    dialog.cancel_requested.emit()
    desk.play()
    assert len(desk.engine.requests) == 1
    assert dialog.state == "Stopped."
    assert dialog.verdict == ""


def test_without_a_model_or_beside_an_answer_it_says_why_not(make_desk):
    desk = make_desk(Script(pieces=("a ",) * 64))
    dialog = dialog_of(desk)
    assert dialog.state == "Load a model first."
    desk.begin()
    assert dialog.state == ""
    desk.send("Hello")
    desk.step(5)
    assert "Wait for the answer" in dialog.state
    desk.play()
    assert dialog.state == ""
