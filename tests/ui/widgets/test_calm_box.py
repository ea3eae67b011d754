"""Choices on pages that scroll."""

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from ui.widgets.calm_box import CalmComboBox


def roll(widget):
    wheel = QWheelEvent(
        QPointF(5, 5),
        QPointF(5, 5),
        QPoint(0, 0),
        QPoint(0, -120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, wheel)
    return wheel.isAccepted()


def test_a_passing_wheel_is_left_to_the_page(qtbot):
    box = CalmComboBox()
    qtbot.addWidget(box)
    box.addItems(["one", "two", "three"])
    box.show()
    box.clearFocus()
    assert not roll(box)
    assert box.currentIndex() == 0


def test_with_the_keyboard_it_is_meant(qtbot):
    box = CalmComboBox()
    qtbot.addWidget(box)
    box.addItems(["one", "two", "three"])
    box.show()
    box.activateWindow()
    box.setFocus()
    qtbot.waitUntil(box.hasFocus)
    assert roll(box)
    assert box.currentIndex() == 1
