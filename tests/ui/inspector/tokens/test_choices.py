"""Other choices as bars that can be picked."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from tests.helpers.inspected_tokens import choice
from ui.inspector.tokens.choices import ChoiceList
from ui.theme import ThemeSource

CHOICES = (
    choice(b" a", 0.5, 1),
    choice(b" b", 0.25, 2),
    choice(b"<|e|>", 0.01, 3, is_special=True),
)


@pytest.fixture
def rows(qtbot):
    made = ChoiceList(ThemeSource())
    qtbot.addWidget(made)
    made.set_choices(CHOICES, 2)
    made.resize(240, made.sizeHint().height())
    return made


def test_rows_are_described(rows):
    assert rows.accessibleDescription() == "“·a” 50.0%, “·b” 25.0%, <|e|> 1.0%"
    assert rows.picked_row == -1


def test_a_click_picks_and_a_double_click_takes(rows):
    picked, taken = [], []
    rows.picked.connect(picked.append)
    rows.taken.connect(lambda: taken.append(rows.picked_row))
    QTest.mouseClick(rows, Qt.MouseButton.LeftButton, pos=QPoint(30, 30))
    assert picked == [1]
    assert "“·b” 25.0%" in rows.accessibleName()
    QTest.mouseClick(rows, Qt.MouseButton.LeftButton, pos=QPoint(30, 1000))
    for _ in range(2):  # the first of them may go with the click before
        QTest.mouseDClick(rows, Qt.MouseButton.LeftButton, pos=QPoint(30, 5))
    assert picked == [1, 0]
    assert set(taken) == {0}


def test_keys_pick_and_take(rows):
    taken = []
    rows.taken.connect(lambda: taken.append(rows.picked_row))
    QTest.keyClick(rows, Qt.Key.Key_Return)
    QTest.keyClick(rows, Qt.Key.Key_Up)
    assert rows.picked_row == 2
    QTest.keyClick(rows, Qt.Key.Key_Down)
    assert rows.picked_row == 2
    QTest.keyClick(rows, Qt.Key.Key_Up)
    QTest.keyClick(rows, Qt.Key.Key_Return)
    assert taken == [1]


def test_new_choices_are_not_picked(rows):
    QTest.keyClick(rows, Qt.Key.Key_Down)
    rows.set_choices(CHOICES[:1], 99)
    assert rows.picked_row == -1
    assert rows.sizeHint().height() == 22
    QTest.keyClick(rows, Qt.Key.Key_Space)
    assert rows.picked_row == -1


def test_it_is_painted(rows, qtbot):
    plain = rows.grab().toImage()
    rows.show()
    rows.activateWindow()
    qtbot.waitUntil(rows.isActiveWindow)
    rows.clearFocus()
    rows.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(rows.hasFocus)
    assert rows.picked_row == 0
    assert rows.grab().toImage() != plain
