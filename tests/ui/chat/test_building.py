"""Messages are made near the view, a step at a time; painted so, they look as if done at once."""

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QWidget

from tests.perf.gui_timing import ANSWER
from ui.chat import building
from ui.chat.building import Section, build_near, drop_far, is_complete
from ui.chat.entries import Entries
from ui.chat.page import ChatPage
from ui.chat.rows import MessageRow, MessageStatus
from ui.theme import ThemeSource

PIECES = (
    "A paragraph of words that wraps around, ",
    "with **bold** words, `code` ",
    "and a [link](https://example.org).\n\n",
    "> A quote that goes on\n> for two lines.\n\n",
    "1. First item\n",
    "2. Second item, a long one that wraps around at the end of the column, and once more\n\n",
    "```python\nx = 1\n",
    "y = 2\n```\n\n",
    "| A | B |\n|:--|--:|\n| 1 | 2 |\n",
    "\n---\n\n# A heading\n\n",
    "The last words.",
)


@pytest.fixture
def page(qtbot):
    page = ChatPage(ThemeSource())
    qtbot.addWidget(page)
    page.resize(800, 600)
    page.show_conversation(
        [
            MessageRow(n, *(("user", "Why?") if n % 2 == 0 else ("assistant", ANSWER)))
            for n in range(6)
        ]
    )
    page.show()
    qtbot.waitExposed(page)
    return page


def settle(qtbot, page):
    messages = page.messages
    timers = (messages._build_timer, messages._layout_timer, messages._shower._timer)

    def is_settled():
        built = not any(e.item is not None and e.item.is_building for e in messages.entries)
        return built and not any(timer.isActive() for timer in timers)

    qtbot.waitUntil(is_settled)
    QApplication.sendPostedEvents()


def seen(page: QObject):
    """What is on the screen."""
    image = page.screen().grabWindow(page.winId()).toImage()
    assert image.size() == page.size()
    return image


def assert_as_painted_at_once(qtbot, page, what):
    settle(qtbot, page)
    in_pieces = seen(page)
    for widget in (page, *page.findChildren(QWidget)):
        widget.update()
    QApplication.sendPostedEvents()
    at_once = seen(page)
    assert in_pieces == at_once, what


def test_an_answer_that_streams(qtbot, page):
    settle(qtbot, page)
    page.append_message(MessageRow(100, "assistant", "", status=MessageStatus.STREAMING))
    page.set_generating(True)
    for turn in range(3):
        for piece in PIECES:
            for start in range(0, len(piece), 16):
                page.append_text(100, piece[start : start + 16])
                page.messages._shower.flush()
            assert_as_painted_at_once(qtbot, page, (turn, piece))
    page.finish_message(MessageRow(100, "assistant", "".join(PIECES) * 3))
    page.set_generating(False)
    assert_as_painted_at_once(qtbot, page, "the end")


@pytest.mark.parametrize("step", [-7, -60, -333])
def test_a_page_that_is_scrolled(qtbot, page, step):
    settle(qtbot, page)
    bar = page.messages.verticalScrollBar()
    for _ in range(5):
        bar.setValue(bar.value() + step)
        assert_as_painted_at_once(qtbot, page, "up")
    for _ in range(5):
        bar.setValue(bar.value() - step)
    assert_as_painted_at_once(qtbot, page, "down")


class FakeItem:
    """Takes some steps to build."""

    def __init__(self, steps):
        self.steps = steps

    @property
    def is_building(self):
        return self.steps > 0

    def build(self):
        self.steps -= 1


@pytest.fixture
def entries():
    entries = Entries()
    entries.set_rows([MessageRow(n, "user", "Why?") for n in range(9)])
    return entries


def made(entries):
    return [index for index, entry in enumerate(entries) if entry.item is not None]


def test_one_step_when_time_is_short_and_the_nearest_first(entries, monkeypatch):
    monkeypatch.setattr(building, "BUDGET_NS", -1)
    order = []

    def make(entry):
        entry.item = FakeItem(1)
        order.append(entry.row.message_id)

    for _ in range(3):
        assert build_near(entries, range(2, 7), 4.2, make)
    assert order == [4]
    assert not is_complete(entries[4])
    monkeypatch.setattr(building, "BUDGET_NS", 10**12)
    assert build_near(entries, range(2, 7), 4.2, make)
    assert order == [4, 5, 3, 6, 2]
    assert all(is_complete(entries[n]) for n in range(2, 7))
    assert not build_near(entries, range(2, 7), 4.2, make)


def test_what_is_far_is_dropped(entries, monkeypatch):
    monkeypatch.setattr(building, "is_in_use", lambda entry: entry.row.message_id == 8)
    monkeypatch.setattr(building, "drop_item", lambda entry: setattr(entry, "item", None))
    for entry in entries:
        entry.item = FakeItem(0)
    drop_far(entries, range(2, 5))
    assert made(entries) == [2, 3, 4, 8]
    drop_far(entries, range(0), drops_used=True)
    assert made(entries) == []


def test_a_section_is_left_however_it_ends():
    section = Section()
    with section:
        assert section.is_running
        with section:
            pass
        assert section.is_running
    with pytest.raises(LookupError), section:
        raise LookupError("no such widget")
    assert not section.is_running
