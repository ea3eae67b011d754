"""What is made late is visited where it stands, not behind everything else."""

import gc

import pytest
import shiboken6
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


def test_a_widget_that_goes_takes_no_neighbour_with_it(window):
    column = window.layout()
    place, behind = column.itemAt(1).widget(), column.itemAt(2).widget()
    made = QWidget(place)
    spin = QSpinBox(made)
    place_after(place, made)
    shiboken6.delete(behind)
    shiboken6.delete(QPushButton("last", made))
    assert all(shiboken6.isValid(widget) for widget in (window, place, made, spin))
    assert window.isVisible()


def test_what_was_placed_is_not_collected_while_it_is_shown(window):
    class Page(QWidget):
        pass

    place = window.layout().itemAt(1).widget()
    for _ in range(2):
        made = Page(place)
        QSpinBox(made)
        place_after(place, made)
    del made, place
    gc.collect()
    assert len(window.findChildren(Page)) == 2
    assert {type(widget) for widget in window.findChildren(Page)} == {Page}
