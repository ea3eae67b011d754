"""Threads take turns quickly until the first load has ended."""

import sys

import pytest

from app.bridge import EngineBridge
from app.turns import TURN_S, QuickTurns
from engine.api import Failure, ModelFailed, ModelOptions, ModelReady
from tests.helpers.fake_engine import FakeEngines, Script, model_info


@pytest.fixture(autouse=True)
def _interval():
    before = sys.getswitchinterval()
    yield
    assert sys.getswitchinterval() == before


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("has_failed", [False, True])
def test_until_a_load_has_ended(has_failed):
    before = sys.getswitchinterval()
    bridge = EngineBridge(FakeEngines(Script()))
    QuickTurns(bridge)
    assert sys.getswitchinterval() == pytest.approx(TURN_S)
    if has_failed:
        bridge.model_failed.emit(ModelFailed("m.gguf", Failure("out_of_memory", "No room.", {})))
    else:
        bridge.model_ready.emit(ModelReady(model_info(ModelOptions("m.gguf"))))
    assert sys.getswitchinterval() == before


@pytest.mark.usefixtures("qapp")
def test_until_the_end():
    QuickTurns(EngineBridge(FakeEngines(Script()))).stop()
