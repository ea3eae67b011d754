"""The Cache and Machine views over the real engine and the starter model, while an answer streams."""

import pytest

from app.application import StartOptions
from engine.api import BlockState
from engine.service import EngineService
from tests.helpers.desk import Desk
from ui.chat.rows import MessageStatus
from ui.inspector.cache.picture import Owner
from ui.inspector.cache.view import CacheView
from ui.inspector.machine.view import MachineView
from ui.inspector.page import InspectorPage

pytestmark = pytest.mark.flow


@pytest.fixture
def desk(qtbot, isolated_home, starter_model):
    made = Desk(
        qtbot,
        isolated_home,
        options=StartOptions(model=str(starter_model)),
        is_immediate=False,
        make_engine=EngineService,
    )
    settings = made.application.services.settings
    settings.set("max_tokens", 256)  # seconds: the map is asked for once a second
    settings.set("temperature", 0.0)
    settings.set("context_length", 1_024)
    made.window.resize(1_360, 860)
    made.application.start()
    made.wait(lambda: made.application.controllers.model.info is not None, 120_000)
    yield made
    made.close()


def _bands(desk, owner):
    view = desk.window.findChild(CacheView)
    return [band for blocks in view.maps for band in blocks.bands if band.owner is owner]


def _read(desk, owner):
    view = desk.window.findChild(CacheView)
    blocks = view.maps[0]
    owners = [band.owner for band in blocks.bands]
    blocks.pointed.emit(owners.index(owner))
    return view.reading


def _ask(desk, text):
    before = len(desk.rows)
    desk.send(text)
    desk.wait(lambda: len(desk.rows) > before)


def _wait_for_end(desk):
    desk.wait(lambda: desk.rows[-1].status is not MessageStatus.STREAMING, 120_000)


def test_blocks_of_a_chat_while_it_streams_and_afterwards(desk):
    desk.window.show_inspector()
    page = desk.window.findChild(InspectorPage)
    page.show_view("cache")
    _ask(desk, "Tell me about the tides, the moon and the sea, as if I were ten years old.")
    desk.wait(
        lambda: any(band.state is BlockState.LIVE for band in _bands(desk, Owner.OWN)), 120_000
    )
    _wait_for_end(desk)
    desk.wait(lambda: all(b.state is BlockState.KEPT for b in _bands(desk, Owner.OWN)), 120_000)
    assert "tokens 1 to" in _read(desk, Owner.OWN)
    desk.chat.open(None)
    desk.wait(lambda: desk.chat.open_chat.conversation_id is None)
    _ask(desk, "Tell me about the tides, the moon and the sea, as if I were ten years old.")
    _wait_for_end(desk)
    desk.wait(lambda: bool(_bands(desk, Owner.SHARED)), 120_000)
    assert _read(desk, Owner.SHARED).count("Tell me about the tides") == 2
    page.show_view("machine")
    view = desk.window.findChild(MachineView)
    desk.wait(lambda: any("weights" in text for text in view.texts), 120_000)
    assert any("chats at once" in text or "chat at once" in text for text in view.texts)
