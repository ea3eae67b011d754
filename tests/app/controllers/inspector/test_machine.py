"""The Machine view follows gauges and answers, measures, and sets budgets."""

from dataclasses import replace

import pytest

import app.composition
from engine.api import (
    CacheGroup,
    CacheMapped,
    EngineStats,
    ExplainAnswer,
    MachineCeilings,
    MapCache,
    Precision,
)
from tests.helpers.fake_inspector import FakeInspector, FakeMeasurement
from tests.helpers.reports import make_report
from ui.inspector.machine.view import MachineView
from ui.inspector.page import InspectorPage
from ui.widgets.throttle import Throttle

MIB = 1 << 20
STATS = EngineStats(1, 0, 0, 0, 128, MIB, 0, 0, 90 * MIB, 128 * MIB, 500 * MIB, 0, 1_024 * MIB)
CEILINGS = MachineCeilings("cpu", 2, 1e10, 9e9, dict.fromkeys(Precision, 1e11), 1.0)


@pytest.fixture
def inspector(monkeypatch):
    made = FakeInspector()
    monkeypatch.setattr(app.composition, "EngineInspector", lambda: made)
    return made


@pytest.fixture
def measurements(monkeypatch):
    made = []

    def make(command, parent=None):
        made.append(FakeMeasurement(command, parent))
        return made[-1]

    monkeypatch.setattr(app.composition, "Measurement", make)
    return made


@pytest.fixture
def fakes(inspector, measurements):
    return inspector, measurements


@pytest.fixture
def desk(make_desk, fakes):
    assert fakes
    desk = make_desk().begin()
    desk.window.resize(1360, 860)
    desk.window.show()
    return desk


@pytest.fixture
def view(desk):
    return desk.window.findChild(MachineView)


@pytest.fixture
def bridge(desk):
    return desk.application.services.bridge


def _open(desk):
    desk.window.show_inspector()
    desk.window.findChild(InspectorPage).show_view("machine")


def _pause(view):
    view.findChild(Throttle).flush()


def test_a_hidden_view_asks_and_shows_nothing(desk, view, bridge, inspector, monkeypatch):
    shown = []
    monkeypatch.setattr(view, "set_picture", shown.append)
    bridge.stats_changed.emit(STATS)
    desk.send("Hi")
    desk.play()
    assert shown == []
    assert inspector.asked_ceilings == []


def test_memory_and_ceilings_are_shown(desk, view, bridge, inspector):
    inspector.known_ceilings = CEILINGS
    bridge.stats_changed.emit(STATS)
    _open(desk)
    _pause(view)
    assert inspector.asked_ceilings == [(2, False)]
    assert "Memory: 1 GiB" in view.texts
    assert view.chart.isVisible()
    assert view.measure.text() == "Measure again (~20 s)"  # measured in 1970


def test_gauges_are_shown_twice_a_second(desk, view, bridge, monkeypatch):
    _open(desk)
    _pause(view)
    shown = []
    monkeypatch.setattr(view, "set_picture", shown.append)
    for at in range(10):
        bridge.stats_changed.emit(replace(STATS, at_ns=at))
    assert shown == []
    _pause(view)
    assert [picture.stats.at_ns for picture in shown] == [9]


def test_measuring_asks_for_the_answers_report_anew(
    desk, view, bridge, inspector, measurements, monkeypatch
):
    desk.send("Hi")
    desk.play()
    message_id = desk.rows[-1].message_id
    report = replace(make_report(f"{message_id}.1"), roofline=None)
    bridge.answer_explained.emit(report)
    explained = []
    monkeypatch.setattr(bridge, "explain", lambda name: explained.append(ExplainAnswer(name)))
    _open(desk)
    view.measure.click()
    (measurement,) = [made for made in measurements if made.started]
    assert measurement.started == [["roofline", "--json", "--threads", "2"]]
    _pause(view)
    assert not view.measure.isVisible()
    assert explained == []
    inspector.known_ceilings = CEILINGS
    measurement.finish()
    _pause(view)
    assert view.measure.isVisible()
    assert explained == [ExplainAnswer(report.request_id)]
    assert view.chart.isVisible()


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("No memory is left.", "This machine could not be measured. No memory is left."),
        ("", "This machine could not be measured."),  # a program that was killed
    ],
)
def test_a_measuring_that_fails_says_why(desk, view, measurements, reason, words):
    _open(desk)
    view.measure.click()
    (measurement,) = [made for made in measurements if made.started]
    measurement.fail(reason)
    _pause(view)
    assert words in view.texts


def test_a_budget_is_set_as_in_the_settings(desk, view):
    _open(desk)
    _pause(view)
    assert view.kv_budget.box.value() == 45  # as it was resolved
    view.kv_budget.box.setValue(90)
    assert view.kv_budget.text.endswith("2,048 tokens to ~2 chats at once.")
    view.kv_budget.apply.click()
    assert desk.application.services.settings.whole("kv_budget_mib") == 90
    _pause(view)
    assert any("loaded again" in text for text in view.texts)
    view._reload.button.click()
    desk.play()
    assert desk.engine.loads[-1].kv_budget_bytes == 90 * MIB
    view.kv_budget.automatic.click()
    assert desk.application.services.settings.whole("kv_budget_mib") is None


def test_layers_with_a_window_are_asked_for(desk, view, bridge):
    _open(desk)
    desk.play()
    asked = [command for command in desk.engine.small if isinstance(command, MapCache)]
    groups = (CacheGroup("window", 30, 64, 16, 16 * 23_040, ()),)
    bridge.cache_mapped.emit(CacheMapped(asked[-1].ticket, groups))
    _pause(view)
    assert "chats at once" in view.kv_budget.text


def test_without_a_model(make_desk, inspector, measurements):
    desk = make_desk(has_model=False).begin()
    desk.window.show()
    _open(desk)
    view = desk.window.findChild(MachineView)
    assert not view.kv_budget.isVisible()
    assert inspector.asked_ceilings == []
    view.measure.click()
    (measurement,) = [made for made in measurements if made.started]
    assert measurement.started == [["roofline", "--json"]]
