"""The Tokens view: what is shown, what is hidden, and what is chosen."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.helpers.inspected_tokens import ANSWER, USER, plain, scored, some_tokens
from ui.inspector.page import InspectorPage
from ui.inspector.tokens.view import TokensView
from ui.theme import ThemeSource
from ui.widgets.tab_order import stops_in
from ui.widgets.text_button import TextButton


@pytest.fixture
def view(qtbot):
    made = TokensView(ThemeSource())
    page = InspectorPage({"tokens": made})
    qtbot.addWidget(page)
    page.resize(300, 640)
    page.show()
    yield made  # the page is alive as long
    page.close()


def press(view, words):
    (button,) = (b for b in view.findChildren(TextButton) if b.text() == words)
    button.click()


def places(view):
    return [n for n in range(6) if not view.chips.rect_of(n).isEmpty()]


def test_words_in_place_of_tokens(view):
    view.show_words("Nothing yet.")
    assert view.text == "Nothing yet."
    view.computing.show_estimate(50, waits=False)
    view.show_computing()
    assert view.text == "Computing ~50 tokens…"
    view.show_halted("Stopped.")
    assert view.text == "Stopped."


def test_tokens_and_what_is_to_be_known_of_them(view):
    view.set_answer("“Yes”")
    view.show_tokens(some_tokens(), "Yes, sir", "~ found again")
    assert view.text.startswith("3 tokens in the prompt")
    assert view.note == "~ found again"
    assert view.chips.accessibleDescription() == view.text


def test_switches_hide_the_prompt_or_the_answer(view):
    view.show_tokens(some_tokens(), "Yes, sir", "")
    assert places(view) == [0, 1, 2, 3, 4, 5]
    press(view, "Answer")
    assert places(view) == [3, 4, 5]
    press(view, "Prompt")
    assert places(view) == [0, 1, 2]
    press(view, "Entropy")
    press(view, "All")
    assert places(view) == [0, 1, 2, 3, 4, 5]


def test_a_chosen_token_is_told_in_detail(view):
    view.show_tokens(some_tokens(), "Yes, sir", "")
    center = view.chips.rect_of(4).center().toPoint()
    QTest.mouseClick(view.chips, Qt.MouseButton.LeftButton, pos=center)
    assert "“,”" in view.details.text
    press(view, "Prompt")
    assert "arrow keys" in view.details.text


def test_the_same_tokens_again_leave_the_choice_alone(view):
    tokens = some_tokens()
    view.show_tokens(tokens, "Yes, sir", "")
    view.chips.choose(3)
    view.show_tokens(tokens, "Yes, sir", "")
    assert view.chips.chosen_place == 3


def test_a_long_prompt_scrolls_to_the_answer(view):
    prompt = tuple(plain(b" word%d\n" % n, USER) for n in range(300))
    view.show_tokens((*prompt, scored(b"Yes", 0.5, 1.0)), "Yes", "")
    top = view._chips_area.verticalScrollBar().value()
    room = view._chips_area.viewport().height()
    assert top <= view.chips.rect_of(300).top() < top + room
    press(view, "Prompt")
    assert view._chips_area.verticalScrollBar().value() == 0


def test_the_chosen_chip_stays_in_sight(view):
    tokens = tuple(scored(b" word%d\n" % n, 0.5, 1.0) for n in range(60))
    view.show_tokens(tokens, "", "")
    for _ in range(25):
        QTest.keyClick(view.chips, Qt.Key.Key_Down)
    rect = view.chips.rect_of(view.chips.chosen_place)
    top = view._chips_area.verticalScrollBar().value()
    assert top <= rect.top()
    assert rect.bottom() <= top + view._chips_area.viewport().height()


@pytest.mark.parametrize("height", [480, 640, 1000])
def test_it_fits_its_place_and_never_scrolls_as_a_whole(view, height):
    page = view.window()
    page.resize(260, height)
    view.show_tokens((*some_tokens(), plain(b"a" * 400, ANSWER)), "Yes, sir", "~ found again")
    view.chips.choose(4)
    area = view.parentWidget().parentWidget()
    assert area.verticalScrollBar().maximum() == 0 or height < 520
    assert view.details.footer.isVisible()


def test_the_pointer_reads_in_a_line(view):
    view.show_tokens(some_tokens(), "Yes, sir", "")
    view.chips.pointed.emit(1)
    assert view._read_out.text().startswith("“Is” · id 2")
    view.chips.pointed.emit(-1)
    assert view._read_out.text() == ""


def test_the_tab_key_goes_from_top_to_bottom(view):
    view.show_tokens(some_tokens(), "Yes, sir", "")
    view.chips.choose(4)
    view.details.choices._pick(0)
    stops = [stop for stop in stops_in(view) if stop.isVisible()]
    first = stops.index(view.findChildren(TextButton)[0])
    names = [
        stop.text() if isinstance(stop, TextButton) else type(stop).__name__
        for stop in stops[first:]
    ]
    assert names[:8] == [
        *("All", "Prompt", "Answer", "Probability", "Entropy"),
        *("TokenChips", "ChoiceList", "QPushButton"),
    ]
