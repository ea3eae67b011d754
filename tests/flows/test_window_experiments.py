"""Experiments in the whole window, on the real engine and the starter model."""

import json

import pytest

from app.experiments import capacity, prompt_length
from app.experiments.kept import read_runs
from app.experiments.spread import curve
from engine.service import EngineService
from tests.helpers.desk import Desk
from ui.experiments.page import ExperimentsPage

pytestmark = pytest.mark.flow
LOAD_MS = 120_000
RUN_MS = 200_000


@pytest.fixture
def desk(qtbot, isolated_home, starter_model):
    desk = Desk(
        qtbot, isolated_home, is_immediate=False, has_model=False, make_engine=EngineService
    )
    settings = desk.application.services.settings
    settings.set("model_path", str(starter_model))
    settings.set("context_length", 512)
    desk.application.start()
    desk.wait(lambda: desk.is_open)
    desk.wait(lambda: desk.application.controllers.model.info is not None, LOAD_MS)
    yield desk
    desk.close()


def run(desk, name):
    page = desk.window.findChild(ExperimentsPage)
    desk.window.show_experiments()
    page.choose(name)
    desk.wait(page.details.start.isEnabled)
    page.details.start.click()
    desk.wait(lambda: page.details._state.running == name)
    desk.wait(lambda: not page.details._state.running, RUN_MS)
    return page


def kept(desk):
    desk.wait(lambda: desk.paths.experiments.is_dir() and any(desk.paths.experiments.iterdir()))
    desk.wait(lambda: bool(read_runs(desk.paths.experiments)))
    return read_runs(desk.paths.experiments)[0]


def test_longer_prompts_take_longer_and_none_comes_from_a_cache(desk):
    page = run(desk, "prompt")
    result = kept(desk)
    assert result.is_complete
    # numbers that begin alike may share a digit or two
    assert all(reading.values["cached_tokens"] <= 3 for reading in result.readings)
    spreads = curve(
        result.readings, prompt_length.SERIES, prompt_length.TTFT, prompt_length.TOKENS
    )
    # texts are as long as they were meant to be, to some percent, and fit the context
    assert [round(s.x / 64) for s in spreads][:3] == [1, 2, 4]
    assert spreads[-1].x < 512
    assert spreads[-1].low > spreads[0].high
    assert "each further 1,000 prompt tokens cost about" in page.details._sentence.text()
    assert page.details.figures.charts[0].spots(page.details.figures.charts[0]._area())


def test_as_many_answers_are_let_in_as_was_calculated(desk):
    run(desk, "capacity")
    result = kept(desk)
    known = {s.x: s.middle for s in curve(result.readings, capacity.CALCULATED, capacity.STREAMS)}
    measured = curve(result.readings, capacity.MEASURED, capacity.STREAMS)
    assert measured
    for spread in measured:
        assert abs(spread.middle - known[spread.x]) <= 1
    document = json.loads(next(desk.paths.experiments.iterdir()).read_text("utf-8"))
    assert document["setting"]["context"] == 512
