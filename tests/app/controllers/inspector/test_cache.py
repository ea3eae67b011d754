"""The Cache view asks the engine while it is seen, and no more than it has to."""

from dataclasses import replace

import pytest

from app.experiments.kept import write_run
from engine.api import (
    BlockRun,
    BlockState,
    CacheForm,
    CacheGroup,
    CacheMapped,
    CacheWay,
    EngineStats,
    MapCache,
)
from tests.app.controllers.inspector.test_kv_quality import make_run
from tests.helpers.reports import make_report
from ui.experiments.page import ExperimentsPage
from ui.inspector.cache.picture import Owner
from ui.inspector.cache.view import CacheView
from ui.inspector.page import InspectorPage
from ui.sidebar.panel import Sidebar
from ui.widgets.model_name import model_title
from ui.widgets.throttle import Throttle

STATS = EngineStats(1, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0)
RUNS = (
    BlockRun(2, BlockState.LIVE, ("1",), 0),
    BlockRun(3, BlockState.KEPT, ("1", "7"), 32),
    BlockRun(5, BlockState.FREE),
)
GROUPS = (CacheGroup("full", 30, None, 16, 1 << 20, RUNS),)
WAYS = (
    CacheWay(CacheForm.FP32, 400, is_present=True),
    CacheWay(CacheForm.INT8, 100),
    CacheWay(CacheForm.ALL_HEADS, 1_200),
)


@pytest.fixture
def desk(make_desk):
    desk = make_desk().begin()
    desk.window.resize(1360, 860)
    desk.window.show()
    return desk


@pytest.fixture
def view(desk):
    return desk.window.findChild(CacheView)


@pytest.fixture
def bridge(desk):
    return desk.application.services.bridge


def _open(desk):
    desk.window.show_inspector()
    desk.window.findChild(InspectorPage).show_view("cache")


def _asked(desk):
    desk.play()
    return [command for command in desk.engine.small if isinstance(command, MapCache)]


def _pause(view):
    """The pause between two questions is over."""
    pace = view.findChild(Throttle)
    pace._pause_ends_ns = 0
    pace.flush()


def _tell(desk, bridge, mapped=None):
    ticket = _asked(desk)[-1].ticket
    bridge.cache_mapped.emit(replace(mapped or CacheMapped(0, GROUPS, WAYS), ticket=ticket))


def test_a_hidden_view_asks_nothing(desk, bridge):
    desk.send("Hi")
    desk.play()
    bridge.stats_changed.emit(STATS)
    assert _asked(desk) == []


def test_a_view_that_is_opened_asks_and_shows(desk, view, bridge):
    desk.send("Hi")
    desk.play()
    _open(desk)
    assert len(_asked(desk)) == 1
    assert _asked(desk)[0].num_tokens == 16  # of the chat: 12 and 4
    _tell(desk, bridge)
    (blocks,) = view.maps
    assert [band.owner for band in blocks.bands] == [Owner.OWN, Owner.SHARED, Owner.FREE]
    blocks.pointed.emit(0)
    assert view.reading.startswith("“Hi”")
    assert "What these 16 tokens would take" in view.texts


def test_one_question_at_a_time_and_none_before_a_pause(desk, view, bridge):
    _open(desk)
    for running in range(1, 5):
        bridge.stats_changed.emit(replace(STATS, num_running=running))
    assert len(_asked(desk)) == 1
    _pause(view)  # not answered yet
    assert len(_asked(desk)) == 1
    _tell(desk, bridge)
    bridge.stats_changed.emit(replace(STATS, num_running=9))
    assert len(_asked(desk)) == 1
    _pause(view)
    assert len(_asked(desk)) == 2


def test_gauges_that_did_not_change_are_no_reason_to_ask(desk, view, bridge):
    bridge.stats_changed.emit(STATS)
    _open(desk)
    _tell(desk, bridge)
    _pause(view)
    bridge.stats_changed.emit(replace(STATS, at_ns=5, process_bytes=7))
    assert len(_asked(desk)) == 1


def test_owners_that_are_not_worked_out_yet_are_asked_for_again(desk, view, bridge):
    _open(desk)
    _tell(desk, bridge, CacheMapped(0, GROUPS, is_complete=False))
    _pause(view)
    assert len(_asked(desk)) == 2
    _tell(desk, bridge, CacheMapped(0, GROUPS))
    _pause(view)
    assert len(_asked(desk)) == 2


def test_late_answers_are_not_shown(desk, view, bridge):
    _open(desk)
    bridge.cache_mapped.emit(CacheMapped(_asked(desk)[-1].ticket + 99, GROUPS))
    assert view.maps == []


def test_an_answer_under_way_grows(desk, bridge):
    desk.send("Hi")
    desk.step(4)
    message_id = desk.rows[-1].message_id
    bridge.answer_explained.emit(make_report(f"{message_id}.1", is_complete=False))
    _open(desk)
    assert _asked(desk)[0].num_tokens == 200  # of 100 in the prompt and 101 in the answer


def test_a_way_is_chosen_as_in_the_settings(desk, view, bridge):
    _open(desk)
    _tell(desk, bridge)
    buttons = [row.button.isVisible() for row in view.ways.rows]
    assert buttons == [False, True, False]
    view.ways.rows[1].button.click()
    assert desk.window.focusWidget() is view._reload.button
    assert desk.application.services.settings.text("kv") == "int8"
    assert [row.text for row in view.ways.rows][1].startswith("INT8, chosen for the next load")
    assert view.ways.rows[0].button.isVisible()  # the way back
    assert any("loaded again" in text for text in view.texts)
    view._reload.button.click()
    desk.play()
    assert desk.engine.loads[-1].kv == "int8"


def test_without_a_model(make_desk):
    desk = make_desk(has_model=False).begin()
    desk.window.show()
    _open(desk)
    assert (
        "The cache is shown here once a model is loaded." in desk.window.findChild(CacheView).texts
    )


def test_titles_are_those_of_the_list(desk, view, bridge):
    desk.send("Hi")
    desk.play()
    sidebar = desk.window.findChild(Sidebar)
    sidebar.rename_requested.emit(1, "Tides")
    _open(desk)
    _tell(desk, bridge)
    view.maps[0].pointed.emit(0)
    assert view.reading.startswith("“Tides”")
    view.maps[0].pointed.emit(1)
    assert "an untitled chat" in view.reading


def test_what_was_measured_of_a_cache_stands_with_it(desk, view, bridge):
    title = model_title(desk.engine.info.path, desk.engine.info.name)
    write_run(desk.paths.experiments, make_run(model=title))
    _open(desk)
    _tell(desk, bridge)
    assert "98.7% same token" in view.ways.rows[1].text
    assert "98.7%" not in view.ways.rows[2].text


def test_one_click_opens_the_experiment_that_measures_the_loss(desk, view, bridge):
    _open(desk)
    _tell(desk, bridge)
    page, chosen = desk.window.findChild(ExperimentsPage), []
    page.chosen.connect(chosen.append)
    view.measure.click()
    assert page.isVisible()
    assert chosen == ["kv"]
