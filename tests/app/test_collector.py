"""What is imported is set apart once, when a load begins."""

import gc

import pytest

from app.bridge import EngineBridge
from app.collector import ImportsSpared
from engine.api import LoadProgress, LoadStage
from tests.helpers.fake_engine import FakeEngines, Script


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
