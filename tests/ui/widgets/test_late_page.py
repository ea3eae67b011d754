import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QStackedWidget, QWidget

from ui.widgets.late_page import LatePage
from ui.widgets.tab_order import stops_in


@pytest.fixture
def stack(qtbot):
    stack = QStackedWidget()
    qtbot.addWidget(stack)
    stack.addWidget(QWidget())
    stack.addWidget(LatePage("later", "What comes later"))
    stack.show()
    return stack


@pytest.fixture
def place(stack):
    return stack.widget(1)


def test_it_is_wanted_when_it_is_shown(qtbot, stack, place):
    with qtbot.waitSignal(place.wanted) as wanted:
        stack.setCurrentIndex(1)
    assert wanted.args == ["later"]


def test_a_page_fills_it_and_is_not_wanted_again(qtbot, stack, place):
    page = QLineEdit(place)
    place.put(page, page.setFocus)
    with qtbot.assertNotEmitted(place.wanted):
        stack.setCurrentIndex(1)
    assert page.isVisible()
    assert page.width() == place.width()


def test_the_keyboard_is_given_when_the_page_is_there(stack, place):
    given = []
    stack.setCurrentIndex(1)
    place.focus_first()
    assert given == []
    place.put(QWidget(place), lambda: given.append(1))
    assert given == [1]
    place.focus_first()
    assert given == [1, 1]


def test_the_keyboard_stays_elsewhere_when_the_page_was_left_meanwhile(stack, place):
    given = []
    stack.setCurrentIndex(1)
    place.focus_first()
    stack.setCurrentIndex(0)
    place.put(QWidget(place), lambda: given.append(1))
    assert given == []


def test_the_keyboard_stays_where_somebody_took_it_meanwhile(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    elsewhere, place = QLineEdit(window), LatePage("later", "What comes later", window)
    window.show()
    place.focus_first()
    assert window.focusWidget() is place
    elsewhere.setFocus()
    page = QLineEdit(place)
    place.put(page, page.setFocus)
    assert window.focusWidget() is elsewhere
    place.focus_first()
    assert window.focusWidget() is page


def test_an_empty_place_is_read_aloud_and_a_filled_one_leaves_that_to_its_page(stack, place):
    stack.setCurrentIndex(1)
    place.focus_first()
    assert stack.focusWidget() is place
    assert place.accessibleName() == "What comes later"
    assert place.accessibleDescription() == "One moment: this page is being made."
    page = QLineEdit(place)
    place.put(page, page.setFocus)
    assert stack.focusWidget() is page
    assert (place.accessibleName(), place.accessibleDescription()) == ("", "")
    assert place.focusPolicy() is Qt.FocusPolicy.NoFocus


def test_the_tab_key_visits_a_page_where_it_stands(stack, place):
    stack.widget(0).setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    behind = QLineEdit()
    stack.addWidget(behind)
    page = QLineEdit(place)
    place.put(page, page.setFocus)
    stops = stops_in(stack)
    assert stops.index(page) < stops.index(behind)
