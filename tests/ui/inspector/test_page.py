"""The inspector's views, one at a time."""

import pytest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from ui.inspector.page import InspectorPage
from ui.widgets.tab_order import stops_in


@pytest.fixture
def page(qtbot):
    made = InspectorPage({"answer": QLabel("a"), "tokens": QLabel("t")})
    qtbot.addWidget(made)
    return made


def test_nothing_is_shown_while_the_page_is_hidden(page):
    assert page.shown == ""


def test_the_view_on_the_screen_is_told(page):
    told = []
    page.shown_changed.connect(told.append)
    page.show()
    page.show_view("tokens")
    page.hide()
    assert told == ["answer", "tokens", ""]


def test_one_view_is_visible(page):
    page.show()
    page.show_view("tokens")
    visible = [label.text() for label in page.findChildren(QLabel) if label.isVisible()]
    assert visible == ["t"]


def test_the_tab_key_goes_from_the_tabs_into_a_view_that_was_made_later(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    page = InspectorPage({"answer": QLabel("a"), "tokens": QLabel("t")}, window)
    behind = QPushButton("behind", window)
    view = QWidget(page.place_of("answer"))
    button = QPushButton("late", view)
    page.put_view("answer", view)
    stops = stops_in(window)
    assert stops.index(button) < stops.index(behind)
