import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from ui.chat.message_item import UserItem
from ui.chat.rows import MessageRow
from ui.theme import ThemeSource


@pytest.fixture
def make_item(qtbot):
    parents = []

    def make(text):
        parent = QWidget()
        qtbot.addWidget(parent)
        parents.append(parent)
        item = UserItem(ThemeSource(), MessageRow(3, "user", text), parent)
        item.setGeometry(0, 0, 600, item.height_for(600))
        parent.show()
        return item

    return make


def test_text_is_shown_as_typed(make_item):
    text = "**not bold** <b>x</b>\n  indented\n\nlast"
    item = make_item(text)
    assert item._text.document().toPlainText() == text


def test_the_bubble_is_narrow_for_short_and_at_most_80_percent_for_long(make_item):
    assert make_item("Hi")._bubble.width() < 120
    long = make_item("word " * 150)
    assert long._bubble.width() <= 0.8 * 600
    assert long._bubble.right() == pytest.approx(600)


def test_very_long_messages_are_folded(qtbot, make_item):
    item = make_item("line\n" * 200)
    folded = item.height_for(600)
    with qtbot.waitSignal(item.height_changed):
        qtbot.mouseClick(item._more, Qt.MouseButton.LeftButton)
    assert item.height_for(600) > 5 * folded
    qtbot.mouseClick(item._more, Qt.MouseButton.LeftButton)
    assert item.height_for(600) == folded


def test_a_megabyte_without_a_break_is_shown_and_measured(make_item):
    item = make_item("x" * 1_000_000)
    assert item.height_for(600) < 2_000


def test_edit_is_asked_for(qtbot, make_item):
    item = make_item("Hi")
    with qtbot.waitSignal(item.edit) as signal:
        qtbot.mouseClick(item._edit, Qt.MouseButton.LeftButton)
    assert signal.args == [3]


def test_actions_can_be_reached_by_keyboard(qtbot, make_item):
    item = make_item("Hi")
    for button in item.shown_actions():
        assert button.focusPolicy() & Qt.FocusPolicy.TabFocus
        assert button.accessibleName()
    item._edit.setFocus()
    with qtbot.waitSignal(item.edit):
        qtbot.keyClick(item._edit, Qt.Key.Key_Space)
