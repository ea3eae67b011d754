"""A person's way through the window: ask, read, stop, change settings, leave, come back, find.

The engine is scripted and plays on its own thread; storage is real, on its own thread too.
"""

import pytest
from PySide6.QtCore import Qt

from engine.api import FinishReason
from tests.helpers.desk import Desk
from tests.helpers.fake_engine import Script
from ui.chat.rows import MessageStatus
from ui.settings.panel import SettingsPanel
from ui.sidebar.panel import Sidebar

pytestmark = pytest.mark.flow

TIDES = "Two tides a day, because the earth turns under two bulges. "
SCRIPT = Script(pieces=tuple(TIDES.split(" ")) * 4, token_interval_s=0.001, num_prompt_tokens=40)
ENDLESS = Script(pieces=("wave ",) * 100_000, token_interval_s=0.001)


@pytest.fixture
def open_desk(qtbot, isolated_home):
    """Open the app on the test's home; a second call is the next start."""
    made = []

    def open_app(script=SCRIPT):
        desk = Desk(qtbot, isolated_home, script, is_immediate=False)
        made.append(desk)
        desk.application.start()
        desk.wait(lambda: desk.application.controllers.model.info is not None)
        desk.wait(lambda: desk.page.composer.input.hasFocus() or desk.is_open)
        return desk

    yield open_app
    for desk in made:
        desk.close()


def type_and_send(desk, text):
    box = desk.page.composer.input
    desk.qtbot.keyClicks(box, text)
    desk.qtbot.keyClick(box, Qt.Key.Key_Return)
    desk.wait(lambda: text in desk.texts)


def wait_for_end(desk):
    desk.wait(lambda: desk.rows[-1].status is not MessageStatus.STREAMING)
    desk.wait(lambda: not desk.application.controllers.answers.has_unsaved)


def test_ask_read_restart_and_find_it_again(open_desk):
    desk = open_desk()
    type_and_send(desk, "Why are there two tides a day?")
    desk.wait(lambda: "Two" in desk.texts[1])
    assert desk.page.composer.send.is_stop
    wait_for_end(desk)
    row = desk.rows[1]
    assert row.text == "".join(SCRIPT.pieces)
    assert row.reason is FinishReason.END_OF_TEXT
    assert not desk.page.composer.send.is_stop
    desk.qtbot.keyClicks(desk.page.composer.input, "And what of the")
    desk.close()

    again = open_desk()
    sidebar = again.window.findChild(Sidebar)
    again.wait(lambda: len(again.listed) == 1)
    assert again.listed == ["Why are there two tides a day?"]
    sidebar.search_changed.emit("bulges")
    again.wait(lambda: len(again.listed) == 1)
    sidebar.search_changed.emit("no such thing")
    again.wait(lambda: again.listed == [])
    sidebar.search_changed.emit("")
    again.wait(lambda: len(again.listed) == 1)
    sidebar.conversation_selected.emit(again.listed_ids[0])
    again.wait(lambda: len(again.rows) == 2)
    assert again.rows[1].text == "".join(SCRIPT.pieces)
    assert again.rows[1].stats.timeline == row.stats.timeline
    assert again.page.composer.text() == "And what of the"


def test_stop_by_key_keeps_the_text_and_the_next_answer_works(open_desk):
    desk = open_desk(ENDLESS)
    type_and_send(desk, "Go on for ever")
    desk.wait(lambda: len(desk.texts[1]) > 200)
    desk.qtbot.keyClick(desk.page.composer.input, Qt.Key.Key_Escape)
    wait_for_end(desk)
    row = desk.rows[1]
    assert row.reason is FinishReason.CANCELLED
    assert row.text.startswith("wave wave")
    type_and_send(desk, "Again")
    desk.wait(lambda: len(desk.texts) == 4 and desk.texts[3] != "")
    desk.page.stop_requested.emit()
    wait_for_end(desk)


def test_settings_change_take_effect_and_survive_a_restart(open_desk):
    desk = open_desk()
    panel = desk.window.findChild(SettingsPanel)
    panel.changed.emit("temperature", 0.0)
    panel.changed.emit("system_prompt", "Answer in one word.")
    panel.changed.emit("weights", "int8")
    type_and_send(desk, "Colour of the sea?")
    wait_for_end(desk)
    request = desk.engine.requests[0]
    assert request.params.temperature == 0.0
    assert request.messages[0].content == "Answer in one word."
    panel.reload_requested.emit()
    desk.wait(lambda: len(desk.engine.loads) == 2)
    assert desk.engine.loads[1].weights.value == "int8"
    desk.wait(lambda: not desk.application.controllers.model.is_loading)
    desk.close()

    again = open_desk()
    assert again.application.services.settings["temperature"] == 0.0
    assert again.engine.loads[0].weights.value == "int8"


def test_closing_mid_answer_keeps_what_was_said(open_desk):
    desk = open_desk(ENDLESS)
    type_and_send(desk, "Go on for ever")
    desk.wait(lambda: len(desk.texts[1]) > 200)
    said = desk.texts[1]
    desk.close()

    again = open_desk(ENDLESS)
    again.wait(lambda: len(again.listed) == 1)
    again.chat.open(again.listed_ids[0])
    again.wait(lambda: len(again.rows) == 2)
    assert again.rows[1].text.startswith(said)
    assert again.rows[1].reason is FinishReason.CANCELLED
    assert again.notices == []


def test_a_message_may_be_sent_before_the_model_is_there(qtbot, isolated_home):
    script = Script(token_interval_s=0.02)
    desk = Desk(qtbot, isolated_home, script, is_immediate=False)
    desk.application.start()
    desk.wait(lambda: desk.application.controllers.model.is_loading)
    desk.send("early bird")
    desk.wait(lambda: desk.texts == ["early bird", "Hello, world."])
    desk.close()


def test_one_may_leave_while_it_streams_and_come_back(open_desk):
    desk = open_desk(ENDLESS)
    type_and_send(desk, "first")
    desk.wait(lambda: len(desk.texts[1]) > 100)
    first = desk.chat.open_chat.conversation_id
    seen = len(desk.texts[1])
    desk.window.findChild(Sidebar).new_chat_requested.emit()
    desk.wait(lambda: desk.rows == [])
    type_and_send(desk, "second")
    desk.wait(lambda: len(desk.texts[1]) > 100)
    desk.window.findChild(Sidebar).conversation_selected.emit(first)
    desk.wait(lambda: desk.texts[:1] == ["first"])
    assert len(desk.texts[1]) > seen
    before = len(desk.texts[1])
    desk.wait(lambda: len(desk.texts[1]) > before)
    assert set(desk.texts[1].split()) == {"wave"}
