import pytest
from PySide6.QtCore import Qt

from ui.chat.composer import Composer
from ui.chat.token_count import ContextUse
from ui.theme import ThemeSource


@pytest.fixture
def composer(qtbot):
    composer = Composer(ThemeSource())
    qtbot.addWidget(composer)
    composer.resize(600, 120)
    composer.show()
    return composer


def test_send_is_possible_with_text_only(qtbot, composer):
    assert not composer.send.isEnabled()
    qtbot.keyClicks(composer.input, "  ")
    assert not composer.send.isEnabled()
    qtbot.keyClicks(composer.input, "hi ")
    with qtbot.waitSignal(composer.submitted) as signal:
        qtbot.mouseClick(composer.send, Qt.MouseButton.LeftButton)
    assert signal.args == ["hi"]


def test_keyboard_is_the_texts_once_stop_was_pressed(qtbot, composer):
    composer.show()
    composer.activateWindow()
    qtbot.waitUntil(composer.isActiveWindow)
    composer.set_generating(is_generating=True)
    composer.send.setFocus()
    qtbot.waitUntil(composer.send.hasFocus)
    composer.set_generating(is_generating=False)
    assert not composer.send.isEnabled()
    assert composer.input.hasFocus()


def test_send_turns_into_stop_and_escape_stops(qtbot, composer):
    composer.set_generating(is_generating=True)
    assert composer.send.is_stop
    assert "Stop" in composer.send.accessibleName()
    with qtbot.waitSignal(composer.stop_requested):
        qtbot.mouseClick(composer.send, Qt.MouseButton.LeftButton)
    with qtbot.waitSignal(composer.stop_requested):
        qtbot.keyClick(composer.input, Qt.Key.Key_Escape)
    qtbot.keyClicks(composer.input, "next")
    with qtbot.assertNotEmitted(composer.submitted):
        qtbot.keyClick(composer.input, Qt.Key.Key_Return)
    assert composer.count.text() == "The answer is still being written — Esc stops it"
    qtbot.keyClicks(composer.input, " one")
    assert "tokens" in composer.count.text()
    qtbot.keyClick(composer.input, Qt.Key.Key_Return)
    composer.set_generating(is_generating=False)
    assert "tokens" in composer.count.text()
    with qtbot.assertNotEmitted(composer.stop_requested):
        qtbot.keyClick(composer.input, Qt.Key.Key_Escape)


def test_drafts_are_reported_once_after_a_pause(qtbot, composer):
    with qtbot.waitSignals([composer.draft_changed, composer.count_requested]):
        qtbot.keyClicks(composer.input, "draft")


def test_a_draft_that_is_shown_is_not_reported(qtbot, composer):
    with qtbot.assertNotEmitted(composer.draft_changed, wait=700):
        composer.set_text("from the store")
    assert composer.text() == "from the store"


def test_the_count_is_an_estimate_until_the_engine_answers(qtbot, composer):
    qtbot.keyClicks(composer.input, "hello world")
    assert composer.count.text() == "~3 tokens"
    composer.set_count(2, ContextUse(8_192))
    assert composer.count.text() == "2 tokens"
    composer.set_count(9_000, ContextUse(8_192))
    assert composer.count.property("look") == "danger-small"
    qtbot.keyClicks(composer.input, "!")
    assert composer.count.text().startswith("~")


def test_that_messages_will_be_left_out_is_said_quietly_and_sends_all_the_same(qtbot, composer):
    qtbot.keyClicks(composer.input, "hello")
    composer.set_count(1, ContextUse(100, 99, 100, leaves_out=True))
    assert "left out" in composer.count.text()
    assert composer.count.property("look") == "small"
    assert composer.count.toolTip() == composer.count.text()
    composer.set_count(1, ContextUse(100, 99, 100))
    with qtbot.waitSignal(composer.submitted):
        qtbot.keyClick(composer.input, Qt.Key.Key_Return)


def test_disabled_it_says_why(composer):
    composer.set_enabled(is_enabled=False, placeholder="No model")
    assert composer.input.placeholder == "No model"
    assert not composer.input.isEnabled()
    assert not composer.send.isEnabled()
