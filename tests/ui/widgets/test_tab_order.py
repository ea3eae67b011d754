"""What is made late is visited where it stands, not behind everything else."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QPushButton, QSpinBox, QVBoxLayout, QWidget

from ui.widgets.tab_order import place_after


@pytest.fixture
def window(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    for widget in (QPushButton("before"), QWidget(), QPushButton("behind")):
        column.addWidget(widget)
    window.show()
    return window


def visited(window):
    """Everything that the Tab key visits, in order."""
    found, stop = [], window.nextInFocusChain()
    while stop is not window:
        if stop.focusPolicy() & Qt.FocusPolicy.TabFocus and stop.focusProxy() is None:
            found.append(stop)
        stop = stop.nextInFocusChain()
    return found


def test_what_is_made_late_is_visited_where_it_stands(window):
    column = window.layout()
    before, place, behind = (column.itemAt(row).widget() for row in range(3))
    inside = QVBoxLayout(place)
    made = QWidget(place)
    inside.addWidget(made)
    parts = [QLineEdit(made), QSpinBox(made), QPushButton("last", made)]
    assert visited(window) == [before, behind, *parts]
    place_after(place, made)
    assert visited(window) == [before, *parts, behind]
    assert len(window.findChildren(QWidget)) == len(_chain(window)) - 1


def _chain(window):
    found, stop = [window], window.nextInFocusChain()
    while stop is not window:
        found.append(stop)
        stop = stop.nextInFocusChain()
    return found
