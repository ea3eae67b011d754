"""What is made late is visited where it stands, not behind everything else."""

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialogButtonBox,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from ui.widgets.tab_order import place_after, stops_in


@pytest.fixture
def window(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    for widget in (QPushButton("before"), QWidget(), QPushButton("behind")):
        column.addWidget(widget)
    window.show()
    return window


def test_what_is_made_late_is_visited_where_it_stands(qtbot, window):
    column = window.layout()
    before, place, behind = (column.itemAt(row).widget() for row in range(3))
    inside = QVBoxLayout(place)
    made = QWidget(place)
    inside.addWidget(made)
    parts = [QLineEdit(made), QSpinBox(made), QPushButton("last", made)]
    assert stops_in(window) == [before, behind, *parts]
    assert stops_in(made) == parts
    place_after(place, made)
    made.show()
    assert stops_in(window) == [before, *parts, behind]
    assert pressed(qtbot, before, 4) == [*parts, behind]


def pressed(qtbot, start, times):
    """What the Tab key itself goes to, whether or not the window is the active one."""
    start.setFocus()
    window = start.window()
    found = []
    for _ in range(times):
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
        found.append(window.focusWidget())
    return found


def test_a_widget_that_goes_takes_no_neighbour_with_it(window):
    place = window.layout().itemAt(1).widget()
    made = QWidget(place)
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok, made)
    made_by_qt, spin = box.buttons()[0], QSpinBox(made)
    place_after(place, made)
    assert stops_in(made) == [made_by_qt, spin]
    shiboken6.delete(spin)
    assert [shiboken6.isValid(widget) for widget in (window, place, made, box)] == [True] * 4
    assert shiboken6.isValid(made_by_qt)
    assert stops_in(made) == [made_by_qt]
