import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest

from ui.chat import message_list
from ui.chat.assistant_item import AssistantItem
from ui.chat.message_list import MessageList
from ui.chat.rows import MessageRow, MessageStatus
from ui.theme import DARK, ThemeSource
from ui.widgets.tab_order import stops_in

ANSWER = "A paragraph with **bold** words.\n\n- one\n- two\n\n```py\nx = 1\n```\n\nEnd.\n\n" * 3


@pytest.fixture
def look():
    return ThemeSource()


@pytest.fixture
def page(qtbot, look):
    page = MessageList(look)
    qtbot.addWidget(page)
    page.resize(700, 500)
    page.show()
    page.setFocus()
    return page


def rows(n):
    return [
        MessageRow(i, "user" if i % 2 == 0 else "assistant", "Why?" if i % 2 == 0 else ANSWER)
        for i in range(n)
    ]


def settle(qtbot, page):
    """Until everything near the view is built and laid out."""

    def is_settled():
        near = page._wanted(1)
        built = all(page.entries[i].item is not None for i in near)
        idle = not (page._build_timer.isActive() or page._layout_timer.isActive())
        items = [e.item for e in page.entries if isinstance(e.item, AssistantItem)]
        return built and idle and not any(item.body.is_building for item in items)

    qtbot.waitUntil(is_settled)


def stream(page, message_id=1_000):
    page.append(MessageRow(message_id, "assistant", "", status=MessageStatus.STREAMING))
    return message_id


def is_at_end(page):
    bar = page.verticalScrollBar()
    return bar.value() == bar.maximum()


def test_only_messages_near_the_view_have_widgets(qtbot, page):
    page.set_rows(rows(400))
    settle(qtbot, page)
    built = [index for index, entry in enumerate(page.entries) if entry.item is not None]
    assert 399 in built
    assert len(built) < 30
    page.verticalScrollBar().setValue(0)
    settle(qtbot, page)
    built = [index for index, entry in enumerate(page.entries) if entry.item is not None]
    assert 0 in built
    assert 399 not in built


def test_a_message_that_cannot_be_built_does_not_stop_the_others(qtbot, page, monkeypatch):
    make = message_list.make_item

    def refuse(*_arguments, **_named):
        raise LookupError("no such widget")

    monkeypatch.setattr(message_list, "make_item", refuse)
    with pytest.raises(LookupError):
        page.set_rows(rows(40))
    monkeypatch.setattr(message_list, "make_item", make)
    page.resize(650, 480)
    settle(qtbot, page)
    assert is_at_end(page)


def test_a_conversation_opens_at_its_end(qtbot, page):
    page.set_rows(rows(60))
    settle(qtbot, page)
    assert is_at_end(page)
    assert page.follows_end


def test_streaming_follows_the_end_until_a_scroll_up(qtbot, page):
    page.set_rows(rows(20))
    message = stream(page)
    for _ in range(5):
        page.append_text(message, "More text that makes it longer.\n\n" * 5)
        qtbot.wait(40)
        assert is_at_end(page)
    settle(qtbot, page)
    bar = page.verticalScrollBar()
    bar.setValue(bar.value() - 10)
    assert not page.follows_end
    value = bar.value()
    page.append_text(message, "Unseen.\n\n" * 20)
    qtbot.wait(80)
    settle(qtbot, page)
    assert bar.value() == value
    assert page._to_end.isVisible()
    bar.setValue(bar.maximum())
    assert page.follows_end
    assert not page._to_end.isVisible()


def test_a_wheel_step_over_a_text_scrolls_the_page(qtbot, page):
    page.set_rows(rows(20))
    settle(qtbot, page)
    before = page.verticalScrollBar().value()
    QTest.wheelEvent(page.windowHandle(), QPointF(300, 250), QPoint(0, 120))
    assert page.verticalScrollBar().value() < before
    assert not page.follows_end


def test_what_is_read_stays_where_it_is_while_others_are_measured(qtbot, page):
    page.set_rows(rows(100))
    settle(qtbot, page)
    bar = page.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle(qtbot, page)
    index, _offset = page._anchor()
    item = page.entries[index].item
    before = item.mapTo(page, QPoint(0, 0)).y()
    page.entries[0].measured_width = 0
    page.entries[0].text = "x " * 5_000
    page._lay_out()
    settle(qtbot, page)
    assert page.entries[index].item.mapTo(page, QPoint(0, 0)).y() == before


def test_a_selection_stops_following(qtbot, page):
    page.set_rows(rows(4))
    message = stream(page)
    page.append_text(message, "Streaming words. " * 30)
    settle(qtbot, page)
    text = page.entries.find(message).item.body.parts[0]
    cursor = text.textCursor()
    cursor.select(QTextCursor.SelectionType.Document)
    text.setTextCursor(cursor)
    assert not page.follows_end
    value = page.verticalScrollBar().value()
    page.append_text(message, "\n\nMore.\n\n" * 30)
    qtbot.wait(80)
    settle(qtbot, page)
    assert page.verticalScrollBar().value() == value


def test_first_paint_is_reported_once(qtbot, page):
    page.set_rows(rows(2))
    settle(qtbot, page)
    message = stream(page)
    page.set_progress(message, "Queued", None)
    painted = []
    page.first_painted.connect(lambda *args: painted.append(args))
    qtbot.wait(50)
    assert not painted
    page.append_text(message, "Hello")
    qtbot.waitUntil(lambda: bool(painted))
    page.append_text(message, " world")
    qtbot.wait(80)
    assert [message_id for message_id, _ns in painted] == [message]
    assert painted[0][1] > 2**31


def test_finishing_shows_the_final_text_and_figures(qtbot, page):
    page.set_rows(rows(2))
    message = stream(page)
    page.append_text(message, "Hello **wor")
    page.finish(MessageRow(message, "assistant", "Hello **world**"))
    settle(qtbot, page)
    item = page.entries.find(message).item
    assert item.body.parts[0].document().toPlainText() == "Hello world"


def test_replacing_shows_another_version(qtbot, page):
    page.set_rows([MessageRow(1, "user", "Q"), MessageRow(2, "assistant", "one")])
    settle(qtbot, page)
    page.replace(MessageRow(2, "assistant", "two", version=2, num_versions=2))
    settle(qtbot, page)
    item = page.entries.find(2).item
    assert item.body.parts[0].document().toPlainText() == "two"
    page.replace(MessageRow(2, "assistant", "", status=MessageStatus.STREAMING))
    page.append_text(2, "three")
    settle(qtbot, page)
    qtbot.waitUntil(lambda: bool(page.entries.find(2).item.body.parts))
    assert page.entries.find(2).item.body.parts[0].document().toPlainText() == "three"


def test_text_for_a_message_that_is_not_shown_is_ignored(page):
    page.set_rows(rows(2))
    page.append_text(77, "nowhere")
    page.set_progress(77, "Queued", None)
    page.finish(MessageRow(77, "assistant", "nowhere"))
    page.replace(MessageRow(77, "assistant", "nowhere"))
    assert len(page.entries) == 2


def test_streaming_while_away_is_there_on_return(qtbot, page):
    page.set_rows(rows(60))
    message = stream(page)
    settle(qtbot, page)
    page.verticalScrollBar().setValue(0)
    settle(qtbot, page)
    page.append_text(message, "Unseen words")
    qtbot.wait(80)
    page.go_to_end()
    settle(qtbot, page)
    text = page.entries.find(message).item.body.parts[0].document().toPlainText()
    assert text == "Unseen words"


def test_a_new_theme_or_zoom_rebuilds_in_place(qtbot, page, look):
    page.set_rows(rows(20))
    settle(qtbot, page)
    height = page.verticalScrollBar().maximum()
    look.set(DARK, 2.0)
    settle(qtbot, page)
    assert page.verticalScrollBar().maximum() > height
    assert is_at_end(page)


def test_home_and_end_keys(qtbot, page):
    page.set_rows(rows(30))
    settle(qtbot, page)
    qtbot.keyClick(page, Qt.Key.Key_Home)
    assert page.verticalScrollBar().value() == 0
    qtbot.keyClick(page, Qt.Key.Key_End)
    assert is_at_end(page)


def test_tab_follows_the_page_from_top_to_bottom(qtbot, page):
    page.set_rows(rows(6))
    settle(qtbot, page)
    qtbot.waitUntil(lambda: page._are_tabs_chained)
    stops = [stop for e in page.entries if e.item is not None for stop in e.item.tab_stops()]
    assert len(stops) > 10
    assert [stop for stop in stops_in(page) if stop in stops] == stops


def test_a_continued_answer_waits_in_sight_and_is_painted_with_its_new_text(qtbot, page):
    painted = []
    page.first_painted.connect(lambda message_id, _at_ns: painted.append(message_id))
    page.set_rows([MessageRow(0, "user", "Why?"), MessageRow(1, "assistant", "Half")])
    page.replace(MessageRow(1, "assistant", "Half", status=MessageStatus.STREAMING))
    page.set_progress(1, "Reading the prompt", 0.5)
    settle(qtbot, page)
    page.grab()
    assert not page.entries[1].item.progress.isHidden()
    assert painted == []
    page.append_text(1, " and half")
    qtbot.waitUntil(lambda: painted == [1])
    assert page.entries[1].item.progress.isHidden()
    page.set_progress(1, "Reading the prompt", 1.0)
    assert page.entries[1].item.progress.isHidden()


def test_painted_text_is_told_once_with_when_its_newest_token_was_chosen(qtbot, page):
    told = []
    page.text_painted.connect(lambda *args: told.append(args))
    message = stream(page)
    settle(qtbot, page)
    page.append_text(message, "Hello", (), 1_000)  # shown at once; the next two wait for a frame
    page.append_text(message, " there", (), 2_000)
    page.append_text(message, "!", (), 3_000)
    qtbot.waitUntil(lambda: len(told) == 2)
    page.entries.find(message).item.repaint()
    assert [(seen, chosen) for seen, chosen, _now in told] == [(message, 1_000), (message, 3_000)]
    assert told[0][2] > 3_000
    page.append_text(message, "!", (), 4_000)
    page.finish(MessageRow(message, "assistant", "Hello there!!"))
    qtbot.waitUntil(lambda: len(told) == 3)
    assert told[2][1] == 4_000


def test_text_that_comes_out_of_sight_is_not_told_as_painted(qtbot, page):
    told = []
    page.text_painted.connect(lambda *args: told.append(args))
    message = stream(page)
    page.append_text(message, ANSWER * 3, (), 1_000)
    qtbot.waitUntil(lambda: bool(told))
    settle(qtbot, page)
    page.verticalScrollBar().setValue(0)
    page.append_text(message, "More.\n\n" * 20, (), 2_000)
    page._show_streamed()
    settle(qtbot, page)
    page.viewport().repaint()
    page.entries.find(message).item.repaint()
    assert [chosen for _id, chosen, _now in told] == [1_000]
    page.go_to_end()
    qtbot.waitUntil(lambda: len(told) == 2)


def test_what_comes_near_when_a_long_message_is_folded_is_built(qtbot, page):
    page.set_rows([MessageRow(100, "user", "a line\n" * 400), *rows(40)])
    bar = page.verticalScrollBar()
    bar.setValue(0)
    settle(qtbot, page)
    fold = page.entries[0].item._more
    fold.click()
    qtbot.waitUntil(lambda: page.entries[0].height > 4_000)
    bar.setValue(1)
    settle(qtbot, page)
    assert page.entries[2].item is None
    fold.click()
    qtbot.waitUntil(lambda: page.entries[0].height < 1_000)
    qtbot.waitUntil(lambda: page.entries[2].item is not None)
