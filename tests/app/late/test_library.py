"""The library comes when it is shown; its workers end, whether it came or not."""

from app.late.library import LIBRARY
from ui.library.page import LibraryPage


def test_the_page_is_made_when_it_is_shown_and_begins_to_search(desk):
    assert desk.window.findChild(LibraryPage) is None
    desk.window.show_library()
    desk.wait(lambda: desk.application.parts.is_made(LIBRARY))
    page = desk.window.findChild(LibraryPage)
    assert page.isVisible()
    desk.wait(lambda: page.current_path != "" or page.shelf.current is not None)


def test_an_app_that_never_showed_it_ends(desk):
    desk.close()
    assert not desk.window.isVisible()
