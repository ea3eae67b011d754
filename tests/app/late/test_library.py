"""The library comes when it is shown; its workers end, whether it came or not."""

import threading

from app.late.library import LIBRARY
from tests.helpers.desk import Desk
from ui.library.page import LibraryPage
from ui.sidebar.panel import Sidebar

WORKERS = {"catalog", "hub", "downloads"}


def _running():
    return WORKERS & {thread.name for thread in threading.enumerate()}


def test_the_page_is_made_when_it_is_shown_and_begins_to_search(desk):
    assert desk.window.findChild(LibraryPage) is None
    desk.window.show_library()
    desk.wait(lambda: desk.application.parts.is_made(LIBRARY))
    page = desk.window.findChild(LibraryPage)
    assert page.isVisible()
    assert page.isAncestorOf(desk.window.focusWidget())
    desk.wait(lambda: page.current_path != "" or page.shelf.current is not None)


def test_the_search_gets_the_keyboard_unless_it_was_taken_elsewhere(desk):
    desk.window.show_library()
    desk.page.composer.input.clearFocus()
    elsewhere = desk.window.findChild(Sidebar)
    elsewhere.focus_search()
    desk.wait(lambda: desk.application.parts.is_made(LIBRARY))
    page = desk.window.findChild(LibraryPage)
    assert elsewhere.isAncestorOf(desk.window.focusWidget())
    desk.window.show_library()
    assert page.isAncestorOf(desk.window.focusWidget())


def test_an_app_that_never_showed_it_ends(qtbot, isolated_home):
    desk = Desk(qtbot, isolated_home, is_immediate=False, is_whole=False)
    try:
        desk.begin()
        assert _running() == WORKERS
        assert not desk.application.parts.is_made(LIBRARY)
    finally:
        desk.close()
    assert _running() == set()
