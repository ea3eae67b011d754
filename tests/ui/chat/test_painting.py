"""What is painted piece by piece, and moved, is what would be painted at once."""

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QWidget

from tests.perf.gui_timing import ANSWER
from ui.chat.page import ChatPage
from ui.chat.rows import MessageRow, MessageStatus
from ui.theme import LIGHT, ThemeSource, apply_theme

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
def page(qtbot, qapp):
    sheet = qapp.styleSheet()
    apply_theme(qapp, LIGHT)
    page = ChatPage(ThemeSource(LIGHT))
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
    yield page
    qapp.setStyleSheet(sheet)


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
