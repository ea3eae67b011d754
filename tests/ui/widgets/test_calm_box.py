"""Choices on pages that scroll."""

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QStyle, QStyleOptionComboBox, QWidget

from ui.theme import LIGHT, style_sheet
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


def test_all_of_a_short_list_is_shown_at_once(qtbot):
    holder = QWidget()
    qtbot.addWidget(holder)
    holder.setStyleSheet(style_sheet(LIGHT, 1.0))
    box = CalmComboBox(holder)
    box.addItems(["Quick, about 2 min", "Thorough, about 24 min"])
    holder.resize(300, 200)
    holder.show()
    box.showPopup()
    view = box.view()
    last = view.visualRect(view.model().index(1, 0))
    assert view.viewport().rect().contains(last)
    box.hidePopup()
    option = QStyleOptionComboBox()
    box.initStyleOption(option)  # a list: what pops up like a menu has arrows that cut it short
    assert not box.style().styleHint(QStyle.StyleHint.SH_ComboBox_Popup, option, box)
