import time

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog, QLineEdit, QListView, QMenu

from ui.sidebar.panel import Sidebar
from ui.sidebar.rows import ConversationRow
from ui.theme import DARK, LIGHT, ThemeSource


def rows(*titles, busy=()):
    now = time.time()
    return [
        ConversationRow(n, title, now - n, is_generating=n in busy)
        for n, title in enumerate(titles, 1)
    ]


@pytest.fixture
def sidebar(qtbot):
    sidebar = Sidebar(ThemeSource())
    qtbot.addWidget(sidebar)
    sidebar.resize(244, 700)
    sidebar.show()
    return sidebar


def list_of(sidebar):
    return sidebar.findChild(QListView)


def search_of(sidebar):
    return sidebar.findChild(QLineEdit, "searchChats")


def heard(signal):
    calls = []
    signal.connect(lambda *args: calls.append(args))
    return calls


def choose(sidebar, row):
    view = list_of(sidebar)
    view.setCurrentIndex(view.model().index(row))


def test_choosing_a_chat_is_announced_once(sidebar):
    sidebar.set_conversations(rows("a", "b"))
    chosen = heard(sidebar.conversation_selected)
    choose(sidebar, 2)
    sidebar.set_current(2)
    assert chosen == [(2,)]


def test_being_told_the_current_chat_announces_nothing(sidebar):
    sidebar.set_conversations(rows("a", "b"))
    chosen = heard(sidebar.conversation_selected)
    sidebar.set_current(1)
    sidebar.set_current(None)
    assert chosen == []
    assert not list_of(sidebar).selectionModel().hasSelection()


def test_a_list_without_the_current_chat_chooses_no_other(sidebar):
    sidebar.set_conversations(rows("a", "b", "c"))
    sidebar.set_current(2)
    chosen = heard(sidebar.conversation_selected)
    sidebar.set_conversations([row for row in rows("a", "b", "c") if row.conversation_id != 2])
    assert chosen == []
    assert not list_of(sidebar).selectionModel().hasSelection()
    sidebar.set_conversations(rows("a", "b", "c"))
    assert list_of(sidebar).currentIndex().data() == "b"


def test_the_arrow_keys_pass_over_headings(sidebar, qtbot):
    now = time.time()
    sidebar.set_conversations(
        [ConversationRow(1, "a", now), ConversationRow(2, "b", now - 3 * 86_400)]
    )
    choose(sidebar, 1)
    chosen = heard(sidebar.conversation_selected)
    qtbot.keyClick(list_of(sidebar), Qt.Key.Key_Down)
    assert chosen == [(2,)]


def test_rename_in_place(sidebar, qtbot):
    sidebar.set_conversations(rows("a", "b"))
    choose(sidebar, 1)
    renamed = heard(sidebar.rename_requested)
    view = list_of(sidebar)
    qtbot.keyClick(view, Qt.Key.Key_F2)
    editor = view.findChild(QLineEdit, "renameEditor")
    assert editor.text() == "a"
    editor.setText("Rivers")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: renamed == [(1, "Rivers")])


def test_delete_is_asked_for_and_can_be_taken_back(sidebar, qtbot):
    sidebar.set_conversations(rows("a", "b"))
    choose(sidebar, 2)
    deleted, undone = heard(sidebar.delete_requested), heard(sidebar.undo_delete_requested)
    sidebar.activateWindow()
    sidebar._delete_selected()
    assert deleted == [(2,)]
    sidebar.offer_undo(2, "b")
    assert sidebar._undo.isVisible()
    assert sidebar._undo.text == "Deleted “b”"
    assert sidebar._undo_timer.isActive()
    qtbot.mouseClick(sidebar._undo.action_button, Qt.MouseButton.LeftButton)
    assert undone == [(2,)]
    assert not sidebar._undo.isVisible()
    assert not sidebar._undo_timer.isActive()


def test_the_offer_to_undo_ends(sidebar):
    sidebar.offer_undo(2, "a title that is far too long to stand in a small bar at the bottom")
    assert sidebar._undo.text.endswith("…”")
    sidebar._undo_timer.timeout.emit()
    assert not sidebar._undo.isVisible()
    assert not sidebar._undo_timer.isActive()


def test_search_says_what_is_typed_and_escape_clears_it(sidebar, qtbot):
    asked = heard(sidebar.search_changed)
    sidebar.focus_search()
    qtbot.keyClicks(search_of(sidebar), "ri")
    assert asked == [("r",), ("ri",)]
    search_of(sidebar).clear()
    assert asked[-1] == ("",)


def test_a_new_chat_ends_the_search(sidebar):
    search_of(sidebar).setText("rivers")
    sidebar.new_chat_requested.emit()
    assert search_of(sidebar).text() == ""


def test_empty_states_tell_search_and_start_apart(sidebar):
    sidebar.set_conversations([])
    assert sidebar._empty.isVisible()
    assert sidebar._empty.text() == "Your chats will be listed here."
    search_of(sidebar).setText("rivers")
    sidebar.set_conversations([])
    assert sidebar._empty.text() == "No chat contains “rivers”."
    sidebar.set_conversations(rows("a"))
    assert not sidebar._empty.isVisible()


def test_the_context_menu_offers_what_a_chat_allows(sidebar):
    sidebar.set_conversations(rows("a", "b"))
    deleted = heard(sidebar.delete_requested)
    menu = sidebar._menu_for(list_of(sidebar).model().index(2))
    assert isinstance(menu, QMenu)
    assert [action.text() for action in menu.actions() if action.text()] == [
        "Rename",
        "Delete",
        "System prompt…",
        "Export…",
        "Add chats from a file…",
        "Export all chats…",
    ]
    menu.actions()[1].trigger()
    assert deleted == [(2,)]


def test_chats_can_be_added_to_an_empty_list(sidebar):
    sidebar.set_conversations([])
    menu = sidebar._menu_for(QModelIndex())
    assert [action.text() for action in menu.actions()] == ["Add chats from a file…"]


def test_the_open_chat_is_exported_by_its_title(sidebar):
    sidebar.ask_export()  # none is open
    assert not sidebar.findChildren(QFileDialog)
    sidebar.set_conversations(rows("a", "b"))
    sidebar.set_current(2)
    sidebar.ask_export()
    (dialog,) = sidebar.findChildren(QFileDialog)
    assert dialog.selectedFiles()[0].endswith("b.md")
    dialog.close()


def test_buttons(sidebar, qtbot):
    new, opened = heard(sidebar.new_chat_requested), heard(sidebar.settings_requested)
    qtbot.mouseClick(sidebar._new_chat, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(sidebar._settings, Qt.MouseButton.LeftButton)
    assert (len(new), len(opened)) == (1, 1)


def test_down_in_the_search_box_enters_the_list(sidebar):
    sidebar.set_conversations(rows("a", "b"))
    chosen = heard(sidebar.conversation_selected)
    sidebar._enter_list()
    assert chosen == [(1,)]


def test_a_chat_that_answers_has_a_dot(qtbot):
    themes = ThemeSource(LIGHT)
    sidebar = Sidebar(themes)
    qtbot.addWidget(sidebar)
    sidebar.resize(244, 700)
    sidebar.show()
    accent = themes.color("accent").rgb()

    def dotted():
        image = (
            list_of(sidebar)
            .viewport()
            .grab()
            .toImage()
            .convertToFormat(QImage.Format.Format_RGB32)
        )
        return any(
            image.pixel(x, y) == accent
            for y in range(min(120, image.height()))
            for x in range(image.width() // 2, image.width())
        )

    sidebar.set_conversations(rows("a"))
    assert not dotted()
    sidebar.set_conversations(rows("a", busy=(1,)))
    assert dotted()


def test_another_theme_repaints(sidebar):
    sidebar.set_conversations(rows("a", busy=(1,)))
    before = list_of(sidebar).viewport().grab().toImage()
    sidebar._themes.set(DARK, 1.25)
    assert list_of(sidebar).viewport().grab().toImage() != before
