"""The page over a scripted engine: run, stop, give way to the chat, keep, show again, compare."""

import json

import pytest

from app.controllers.experiments.controller import ExperimentsController
from app.controllers.experiments.runner import Runner
from app.experiments import precision
from app.experiments.catalogue import BY_NAME
from app.experiments.trials import ProgramTrial, Seen
from app.quality.loss import model_key
from engine.api import Failure
from engine.errors import OutOfMemoryError
from tests.helpers.fake_engine import Script
from ui.experiments.page import ExperimentsPage
from ui.meters.live import LiveMeters


def page_of(desk):
    return desk.window.findChild(ExperimentsPage)


def start(desk, name="answer"):
    page = page_of(desk)
    desk.window.show_experiments()
    page.choose(name)
    page.details.run_requested.emit("quick")
    return page


def play(desk, page):
    for _ in range(40):
        if not page.details._state.running:
            return
        desk.play()
        desk.qtbot.wait(1)
    pytest.fail("the experiment does not end")


def state(page):
    return page.details._state


@pytest.fixture
def desk(make_desk):
    return make_desk(Script(pieces=("a ",) * 64)).begin()


def test_the_link_beside_the_cache_meter_opens_its_experiment(desk):
    desk.window.findChild(LiveMeters).experiment_requested.emit()
    page = page_of(desk)
    assert desk.window._centre.currentWidget().isAncestorOf(page)
    assert page.details._title.text() == "What is the cache for?"


def test_the_same_answer_with_the_cache_and_without_it(desk, isolated_home):
    page = start(desk, "cache")
    assert state(page).running == "cache"
    play(desk, page)
    _warm_up, kept, anew = desk.engine.requests
    assert (kept.kv_cache, anew.kv_cache) == (True, False)
    assert not kept.guess_ahead
    assert kept.params.max_tokens == anew.params.max_tokens == 256
    assert {request.priority for request in desk.engine.requests} == {-1}
    assert desk.texts == []
    assert page.details._sentence.text().startswith("64 tokens took")
    titles = [chart.title for chart in page.details.figures.charts]
    assert titles == ["Time of each token", "Time so far"]
    (file,) = (isolated_home / "experiments").iterdir()
    kept_run = json.loads(file.read_text("utf-8"))
    assert kept_run["setting"]["machine"] == "Test CPU"
    assert kept_run["is_complete"] is True


def test_a_prompt_is_new_each_time(desk):
    page = start(desk, "prompt")
    play(desk, page)
    prompts = [request.prompt for request in desk.engine.requests]
    assert len({prompt[:12] for prompt in prompts}) == len(prompts)
    lengths = [len(prompt.split()) for prompt in prompts[1:7]]
    assert lengths == sorted(lengths)


def test_a_stop_keeps_what_was_measured(desk):
    page = start(desk, "prompt")
    desk.play()
    desk.play()
    desk.qtbot.wait(1)
    page.details.stop_requested.emit()
    desk.qtbot.waitUntil(lambda: not state(page).running)
    assert "Not all of it was measured." in page.details._notes.text()
    desk.play()
    assert desk.engine.is_idle


def test_the_chat_goes_first_and_the_point_is_measured_again(desk):
    page = start(desk, "answer")
    desk.play()  # the warm-up
    desk.step(10)
    desk.send("Hello")
    desk.qtbot.waitUntil(lambda: state(page).words.startswith("The chat goes first."))
    first = len(desk.engine.requests)
    desk.play()
    assert desk.texts[0] == "Hello"
    desk.qtbot.waitUntil(lambda: "measured again" in state(page).words)
    play(desk, page)
    # the warm-up, a point that was dropped, the chat, and both repeats
    assert len(desk.engine.requests) == first + 3
    dropped, again = desk.engine.requests[1], desk.engine.requests[-1]
    assert dropped.params == again.params
    assert dropped.prompt != again.prompt


def test_another_program_that_is_served_goes_first_too(desk):
    page = start(desk, "answer")
    desk.play()  # the warm-up
    desk.step(10)
    answers = desk.application.controllers.answers
    answers.set_served(1)
    desk.qtbot.waitUntil(lambda: state(page).words.startswith("Another program is served."))
    answers.set_served(0)
    play(desk, page)
    assert len(desk.engine.requests) == 4  # the warm-up, a point that was dropped, both repeats


def test_without_a_model_it_says_why_not(make_desk):
    desk = make_desk(Script(pieces=("a ",)))
    page = page_of(desk)
    desk.window.show_experiments()
    assert state(page).reason == "Load a model first."
    assert not page.details.start.isEnabled()
    desk.begin()
    desk.qtbot.waitUntil(page.details.start.isEnabled)
    assert state(page).reason == ""


def test_another_model_ends_it(desk):
    page = start(desk, "answer")
    desk.step(3)
    desk.application.controllers.model.choose("/other.gguf")
    assert not state(page).running
    assert "The model changed" in desk.shown_notice
    assert state(page).reason == "The model is being loaded." or not page.details.start.isEnabled()
    desk.play()
    desk.qtbot.waitUntil(page.details.start.isEnabled)


def test_a_failure_is_told_in_its_own_words(make_desk):
    failure = Failure.of(OutOfMemoryError("The cache is full; use a shorter prompt."))
    desk = make_desk(Script(pieces=(), failure=failure)).begin()
    page = start(desk, "answer")
    desk.play()
    desk.qtbot.waitUntil(lambda: not state(page).running)
    assert desk.shown_notice != ""


def test_runs_come_back_and_two_can_be_compared(desk, make_desk):
    for _ in range(2):
        play(desk, start(desk, "answer"))
    desk.close()
    again = make_desk(Script(pieces=("a ",) * 64)).begin()
    page = page_of(again)
    again.window.show_experiments()
    page.choose("answer")
    past = page.details.past
    assert past.list.count() == 2
    past.other.setCurrentIndex(1)
    past.other.activated.emit(1)
    chart = page.details.figures.charts[0]
    assert len(chart._figure.series) == 2
    table = page.details.figures._differences
    assert not table.isHidden()
    assert table.rowCount() > 3
    assert table.item(0, 0).text() == "Time between tokens"
    past._remove.click()
    assert past.list.count() == 1
    assert len(list(again.paths.experiments.iterdir())) == 1
    past._restore.click()
    assert past.list.count() == 2
    assert len(list(again.paths.experiments.iterdir())) == 2
    assert not past._restore.isVisible()


def test_a_loss_measured_here_is_known_in_the_settings(desk):
    controller = desk.window.findChild(ExperimentsController)
    runner = desk.window.findChild(Runner)
    controller._info = desk.engine.info
    printed = {
        "perplexity": 20.0,
        "tokens": 900,
        "top1_agreement": 0.93,
        "mean_kl": 0.02,
        "reference_perplexity": 19.5,
    }
    seen = Seen(printed=printed, seconds=12.0)
    trial = ProgramTrial(precision.QUALITY, 0.0, (), "int4")
    for name in ("kv", "weights"):
        runner._experiment = BY_NAME[name]
        runner.program_ended.emit(trial, seen)
        known = controller._meter.known(model_key(str(desk.paths.starter_model)))
        assert ("int4" in known) is (name == "weights")
    runner._experiment = None
    assert known["int4"].top1_agreement == 0.93
    assert known["int4"].seconds == 12.0


def test_the_disk_is_not_asked_each_time_the_page_is_brought_up_to_date(desk, monkeypatch):
    asked = []
    place = "app.controllers.experiments.controller.model_key"
    monkeypatch.setattr(place, lambda path: asked.append(path) or "key")
    page = page_of(desk)
    desk.window.show_experiments()
    for name in ("weights", "prompt", "weights"):
        page.choose(name)
    assert len(asked) <= 1
