import pytest
from PySide6.QtCore import Qt

from ui.theme import DARK, ThemeSource
from ui.widgets.action_bar import ActionBar


@pytest.fixture
def bar(qtbot):
    bar = ActionBar(ThemeSource())
    qtbot.addWidget(bar)
    return bar


def test_it_is_hidden_until_there_is_something_to_say(bar):
    assert not bar.isVisible()
    bar.show_text("The disk is full.")
    assert bar.isVisible()
    assert bar.text == bar.accessibleName() == "The disk is full."
    assert not bar.action_button.isVisible()


def test_the_action_and_the_close_button(bar, qtbot):
    heard = []
    bar.triggered.connect(lambda: heard.append("action"))
    bar.closed.connect(lambda: heard.append("closed"))
    bar.show_text("The disk is full.", "Try again")
    qtbot.mouseClick(bar.action_button, Qt.MouseButton.LeftButton)
    assert bar.isVisible()
    qtbot.mouseClick(bar._close, Qt.MouseButton.LeftButton)
    assert heard == ["action", "closed"]
    assert not bar.isVisible()


def test_it_follows_the_theme(bar):
    before = bar._close.icon().cacheKey()
    bar._themes.set(DARK, 1.0)
    assert bar._close.icon().cacheKey() != before
