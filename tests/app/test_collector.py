"""What is imported is set apart once, when a load begins."""

import gc

import pytest

from app.bridge import EngineBridge
from app.collector import NEVER, ImportsSpared
from engine.api import LoadProgress, LoadStage
from tests.helpers.fake_engine import FakeEngines, Script


@pytest.fixture(autouse=True)
def _thresholds():
    before = gc.get_threshold()
    yield
    assert gc.get_threshold() == before


@pytest.mark.usefixtures("qapp")
def test_full_collections_wait_until_a_load_begins(monkeypatch):
    monkeypatch.setattr(gc, "freeze", lambda: None)
    before = gc.get_threshold()
    bridge = EngineBridge(FakeEngines(Script()))
    spared = ImportsSpared(bridge)
    assert gc.get_threshold() == (*before[:2], NEVER)
    bridge.load_progressed.emit(LoadProgress("m.gguf", LoadStage.READING_HEADER, 0, 1))
    assert gc.get_threshold() == before
    assert not spared._timer.isActive()


@pytest.mark.usefixtures("qapp")
def test_without_a_load_they_come_again_after_a_while():
    before = gc.get_threshold()
    spared = ImportsSpared(EngineBridge(FakeEngines(Script())))
    spared._timer.stop()
    spared._timer.timeout.emit()
    assert gc.get_threshold() == before


@pytest.mark.usefixtures("qapp")
def test_once_and_not_before_a_load(monkeypatch):
    frozen = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(1))
    bridge = EngineBridge(FakeEngines(Script()))
    ImportsSpared(bridge)
    assert frozen == []
    for done in (0, 1):
        bridge.load_progressed.emit(LoadProgress("m.gguf", LoadStage.READING_HEADER, done, 1))
    assert frozen == [1]
