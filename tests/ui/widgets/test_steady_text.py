import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QVBoxLayout, QWidget
from typing_extensions import override

from ui.theme import DARK, ThemeSource
from ui.widgets.steady_text import SteadyText


class Requests(QObject):
    """Counts how often a widget is asked to lay its children out."""

    def __init__(self, widget):
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    @override
    def eventFilter(self, watched, event):
        self.count += event.type() is QEvent.Type.LayoutRequest
        return False


@pytest.fixture
def themes():
    return ThemeSource()


@pytest.fixture
def words(qtbot, themes):
    column = QWidget()
    qtbot.addWidget(column)
    words = SteadyText(themes, column)
    layout = QVBoxLayout(column)
    layout.addWidget(words)
    layout.addStretch(1)
    column.resize(200, 300)
    column.show()
    qtbot.waitExposed(column)
    words.setText("p50 5.0 ms")
    qtbot.wait(1)
    yield words
    column.close()


def test_words_of_as_many_lines_are_laid_out_once(qtbot, words):
    requests = Requests(words.parentWidget())
    for number in range(5):
        words.setText(f"p50 {number}.0 ms")
        qtbot.wait(1)
    assert requests.count == 0
    assert words.text() == words.accessibleName() == "p50 4.0 ms"
    height = words.height()
    words.setText("some more words than fit into one line of such a narrow column")
    qtbot.waitUntil(lambda: words.height() > height)
    assert requests.count >= 1
    words.clear()
    assert words.text() == ""


def test_it_needs_more_lines_where_it_is_narrow(words):
    words.setText("a few words in a row")
    assert words.heightForWidth(60) > words.heightForWidth(400) > 0
    assert words.sizeHint().width() >= 200


def test_it_follows_the_zoom_and_paints_in_both_schemes(words, themes):
    height = words.heightForWidth(400)
    light = words.grab().toImage()
    themes.set(DARK, 2.0)
    assert words.heightForWidth(400) > height
    assert words.grab().toImage() != light
