import pytest

from ui.widgets.folding import Folding, WidthClass


@pytest.mark.parametrize(
    ("width", "sidebar", "panel"), [(1360, True, True), (899, True, False), (639, False, False)]
)
def test_sides_fold_as_the_window_narrows(width, sidebar, panel):
    folding = Folding()
    folding.resize(width)
    assert (folding.shows_sidebar, folding.shows_panel) == (sidebar, panel)


def test_what_the_user_closed_stays_closed_when_the_window_grows_again():
    folding = Folding()
    folding.resize(1360)
    folding.show_panel(shown=False)
    folding.resize(620)
    folding.resize(1360)
    assert folding.shows_sidebar
    assert not folding.shows_panel


def test_a_panel_opened_on_a_middle_window_takes_the_lists_place():
    folding = Folding()
    folding.resize(880)
    folding.show_panel(shown=True)
    assert folding.shows_panel
    assert not folding.shows_sidebar
    folding.show_panel(shown=False)
    assert folding.shows_sidebar


def test_opening_a_side_on_a_narrow_window_is_forgotten_afterwards():
    folding = Folding()
    folding.resize(620)
    folding.show_sidebar(shown=True)
    assert folding.shows_sidebar
    folding.show_panel(shown=True)
    assert not folding.shows_sidebar
    folding.resize(880)
    assert folding.shows_sidebar
    assert not folding.shows_panel


def test_resizing_within_a_class_keeps_what_was_opened():
    folding = Folding()
    assert folding.resize(620)
    folding.show_sidebar(shown=True)
    assert not folding.resize(600)
    assert folding.shows_sidebar
    assert folding.width_class is WidthClass.NARROW


def test_remembered_wishes_apply_where_there_is_room():
    folding = Folding()
    folding.resize(880)
    folding.set_wishes(sidebar=True, panel=True)
    assert folding.shows_sidebar
    assert not folding.shows_panel
