"""A line that is clicked, and marked with the mouse as any text."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from ui.chat.quiet_line import QuietLine


@pytest.fixture
def line(qtbot):
    made = QuietLine()
    made.setText("84 tokens \u00b7 first token 182 ms \u00b7 212 tokens/s")
    made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    made.set_clickable(is_clickable=True)
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_click_is_told(line, qtbot):
    with qtbot.waitSignal(line.clicked):
        qtbot.mouseClick(line, Qt.MouseButton.LeftButton)


def test_marking_text_is_no_click(line):
    clicks = []
    line.clicked.connect(lambda: clicks.append(1))
    middle = line.height() // 2
    QTest.mousePress(line, Qt.MouseButton.LeftButton, pos=QPoint(2, middle))
    QTest.mouseMove(line, QPoint(100, middle))
    QTest.mouseRelease(line, Qt.MouseButton.LeftButton, pos=QPoint(100, middle))
    assert line.hasSelectedText()
    assert clicks == []


def test_nothing_behind_it_no_click_and_the_right_button_is_for_the_menu(line, qtbot):
    clicks = []
    line.clicked.connect(lambda: clicks.append(1))
    qtbot.mouseClick(line, Qt.MouseButton.RightButton)
    line.set_clickable(is_clickable=False)
    qtbot.mouseClick(line, Qt.MouseButton.LeftButton)
    assert clicks == []
