from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from engine.api import CacheMiss, FinishReason, LeftOut, MissKind
from tests.ui.chat.test_stats_line import TIMELINE
from ui.chat.assistant_item import AssistantItem
from ui.chat.rows import AnswerStats, MessageRow, MessageStatus
from ui.theme import ThemeSource

ROW = MessageRow(
    7, "assistant", "Answer.", stats=AnswerStats(TIMELINE, FinishReason.END_OF_TEXT), version=2,
    num_versions=3,
)  # fmt: skip


@pytest.fixture
def make_item(qtbot):
    parents = []

    def make(row):
        parent = QWidget()
        qtbot.addWidget(parent)
        parents.append(parent)
        parent.resize(600, 400)
        item = AssistantItem(ThemeSource(), row, parent)
        item.setGeometry(0, 0, 600, item.height_for(600))
        parent.show()
        item.show()
        return item

    return make


def names(item):
    return [button.accessibleName() for button in item.shown_actions()]


def press(qtbot, item, name):
    (button,) = [b for b in item.shown_actions() if b.accessibleName() == name]
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_a_finished_answer_shows_figures_and_versions(qtbot, make_item):
    item = make_item(ROW)
    assert item.stats.text().startswith("84 tokens")
    assert "Version 2/3" in names(item)
    with qtbot.waitSignal(item.show_version) as signal:
        press(qtbot, item, "Next version")
    assert signal.args == [7, 3]
    with qtbot.waitSignal(item.show_version) as signal:
        press(qtbot, item, "Previous version")
    assert signal.args == [7, 1]
    with qtbot.waitSignal(item.regenerate):
        press(qtbot, item, "Regenerate")


def test_the_words_of_an_answer_can_be_changed_by_the_reader(qtbot, make_item):
    item = make_item(ROW)
    with qtbot.waitSignal(item.edit) as signal:
        press(qtbot, item, "Edit message")
    assert signal.args == [7]
    empty = make_item(MessageRow(8, "assistant", "", status=MessageStatus.FAILED, failure="No."))
    assert "Edit message" not in names(empty)


def test_a_partial_answer_says_so_and_can_go_on(qtbot, make_item):
    item = make_item(MessageRow(7, "assistant", "Half", status=MessageStatus.PARTIAL))
    assert item.stats.text() == "Cut off when the app closed"
    assert item.is_revealed()
    with qtbot.waitSignal(item.continue_answer):
        press(qtbot, item, "Continue")


def test_a_failure_keeps_the_text_and_offers_a_retry(qtbot, make_item):
    row = MessageRow(7, "assistant", "Some", status=MessageStatus.FAILED, failure="It broke.")
    item = make_item(row)
    assert item.body.parts[0].document().toPlainText() == "Some"
    assert item.failure.accessibleName() == "It broke."
    with qtbot.waitSignal(item.regenerate):
        qtbot.mouseClick(item.failure.retry, Qt.MouseButton.LeftButton)


def test_progress_ends_with_the_first_text(make_item):
    item = make_item(MessageRow(7, "assistant", "", status=MessageStatus.STREAMING))
    item.show_progress("Reading the prompt", 0.5)
    assert not item.progress.isHidden()
    assert not names(item)
    item.append("Hi")
    assert item.progress.isHidden()
    item.finish(replace(ROW, text="Hi there"), "Hi")
    assert item.body.parts[0].document().toPlainText() == "Hi there"
    assert "Regenerate" in names(item)


def test_while_busy_nothing_new_can_be_started(make_item):
    item = make_item(ROW)
    item.set_busy(is_busy=True)
    enabled = {b.accessibleName() for b in item.shown_actions() if b.isEnabled()}
    assert "Copy message" in enabled
    assert not {"Regenerate", "Edit message", "Next version", "Previous version"} & enabled


def test_copy_puts_the_source_on_the_clipboard(qtbot, make_item, qapp):
    item = make_item(replace(ROW, text="**bold**"))
    press(qtbot, item, "Copy message")
    assert qapp.clipboard().text() == "**bold**"


def test_a_failure_is_told_once(make_item):
    row = MessageRow(
        7, "assistant", "", status=MessageStatus.FAILED, reason=FinishReason.FAILED, failure="No."
    )
    assert make_item(row).stats.isHidden()


def test_what_it_does_not_see_stands_above_it(make_item):
    plain = make_item(ROW)
    item = make_item(replace(ROW, left_out=LeftOut(1, 3, 1_204)))
    assert plain.note.isHidden()
    assert "3 earlier messages" in item.note.text()
    assert item.note.geometry().bottom() < item.body.geometry().top()
    assert item.height() > plain.height()
    item.set_row(ROW)
    assert item.note.isHidden()


def test_why_the_cache_was_missed_is_told_on_the_line(make_item):
    timeline = replace(TIMELINE, cache_miss=CacheMiss(MissKind.EVICTED, 16, 60))
    item = make_item(replace(ROW, stats=AnswerStats(timeline, FinishReason.END_OF_TEXT)))
    assert "other chats needed the room" in item.stats.toolTip()
    assert item.stats.accessibleDescription() == item.stats.toolTip()


def test_the_bar_the_line_and_a_button_lead_to_where_the_time_went(qtbot, make_item):
    item = make_item(ROW)
    told = []
    item.inspect.connect(told.append)
    qtbot.mouseClick(item._bar, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(item.stats, Qt.MouseButton.LeftButton)
    press(qtbot, item, "Where the time went")
    assert told == [7, 7, 7]
    assert "Where the time went" in [stop.accessibleName() for stop in item.tab_stops()]


def test_an_answer_without_figures_leads_nowhere(qtbot, make_item):
    item = make_item(MessageRow(7, "assistant", "Half", status=MessageStatus.PARTIAL))
    told = []
    item.inspect.connect(told.append)
    qtbot.mouseClick(item.stats, Qt.MouseButton.LeftButton)
    assert "Where the time went" not in names(item)
    assert told == []
