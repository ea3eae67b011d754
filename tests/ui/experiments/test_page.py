import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton

from ui.experiments.rows import RunState
from ui.theme import DARK


def test_the_first_experiment_is_chosen_and_another_can_be(qtbot, page):
    assert page.details._title.text() == "What is the cache for?"
    button = page.choice._group.button(1)
    with qtbot.waitSignal(page.chosen) as said:
        button.click()
    assert said.args == ["prompt"]
    assert page.details._line.text() == "The time to the first token."


def test_arrow_keys_walk_the_list(qtbot, page):
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    page.focus_first()
    first = page.choice._group.button(0)
    qtbot.waitUntil(first.hasFocus)
    with qtbot.waitSignal(page.chosen) as said:
        qtbot.keyClick(first, Qt.Key.Key_Down)
    assert said.args == ["prompt"]


def test_the_tab_key_goes_from_the_list_to_what_it_runs_and_shows(qtbot, page, shown):
    page.details.show_result(shown)
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    page.focus_first()
    details = page.details
    wanted = [details.start, details.thoroughness, *details.figures.charts, details.as_table]
    for widget in wanted:
        qtbot.keyClick(page.focusWidget(), Qt.Key.Key_Tab)
        assert page.focusWidget() is widget
    for widget in reversed([page.choice._group.button(0), *wanted[:-1]]):
        qtbot.keyClick(page.focusWidget(), Qt.Key.Key_Backtab)
        assert page.focusWidget() is widget


def test_the_focus_goes_with_the_form_of_the_list(qtbot, page):
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    page.focus_first()
    page.resize(420, 700)
    qtbot.waitUntil(page.choice._box.hasFocus)
    page.resize(1000, 700)
    qtbot.waitUntil(page.choice._group.button(0).hasFocus)


def test_a_screen_reader_hears_what_each_shows(page):
    button = page.choice._group.button(1)
    assert isinstance(button, QAbstractButton)
    assert button.accessibleName() == "Long prompts"
    assert button.accessibleDescription() == "The time to the first token."


@pytest.mark.parametrize(("width", "is_narrow"), [(1000, False), (420, True)])
def test_a_narrow_page_has_a_box_in_place_of_the_list(qtbot, page, width, is_narrow):
    page.resize(width, 700)
    assert page.choice._box.isVisible() is is_narrow
    assert page.choice._area.isVisible() is not is_narrow
    page.grab()
    if is_narrow:
        with qtbot.waitSignal(page.chosen) as said:
            page.choice._box.setCurrentIndex(1)
            page.choice._box.activated.emit(1)
        assert said.args == ["prompt"]


def test_it_can_become_narrow_with_charts_in_it(page, shown):
    page.details.show_result(shown)
    page.resize(330, 500)
    assert page.width() <= 340
    page.grab()


def test_the_running_one_is_marked(page):
    page.show_state(RunState(running="prompt", part=0.5, words="1 of 2"))
    assert page.choice._group.button(1)._is_running
    assert not page.details._progress.isVisible()
    assert not page.details.start.isEnabled()
    page.choose("prompt")
    assert page.details._progress.isVisible()
    assert page.details.start.text() == "Stop"
    page.grab()


def test_back_to_the_chat(qtbot, page):
    with qtbot.waitSignal(page.closed):
        page._back.click()


def test_zoom_and_theme_are_followed(page, themes, shown):

    page.details.show_result(shown)
    themes.set(DARK, 2.0)
    page.grab()
    assert page.choice._box.isVisible()  # 1000 px at 200% is narrow
