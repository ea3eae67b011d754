"""The library page: list, search, sheet, states and keys."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QListView, QPushButton

from engine.api import Fit, Precision, PrecisionFit
from tests.ui.library.conftest import make_sheet
from ui.library.page import LibraryPage
from ui.library.rows import LibraryRow, PlaceRow, SortKey
from ui.theme import DARK, LIGHT, ThemeSource


@pytest.fixture
def themes():
    return ThemeSource()


@pytest.fixture
def page(qtbot, themes):
    page = LibraryPage(themes)
    qtbot.addWidget(page)
    page.resize(820, 600)
    page.show()
    page.activateWindow()  # keys reach the window that is active
    qtbot.waitUntil(page.isActiveWindow)
    return page


def heard(signal):
    calls = []
    signal.connect(lambda *args: calls.append(args))
    return calls


def view_of(page):
    return page.findChild(QListView, "models")


def shown(page):
    view = view_of(page)
    if not view.isVisible():
        return []
    return [view.model().index(row, 0).data() for row in range(view.model().rowCount())]


def words(page):
    return " ".join(label.text() for label in page.findChildren(QLabel) if label.isVisible())


def button(page, text):
    return next(b for b in page.findChildren(QPushButton) if b.isVisible() and b.text() == text)


def test_empty_and_still_looking(page):
    assert "No models yet" in words(page)
    page.set_scanning(is_scanning=True)
    assert "Looking for models…" in words(page)


def test_a_choice_shows_the_sheet_and_is_told(page, rows, qtbot):
    told = heard(page.selected)
    page.set_rows(rows)
    assert shown(page) == ["a", "b", "c"]
    page.select("/models/a.gguf")
    assert told == [("/models/a.gguf",)]
    qtbot.waitUntil(lambda: "Tiny Llama" in words(page))
    text = words(page)
    for part in (
        "Tiny Llama",
        "llama",
        "1.1B",
        "32, 4 for KV",
        "32,000",
        "apache-2.0",
        "3 models",
    ):
        assert part in text
    assert "INT4 (automatic)" in text
    assert "Barely fits" in text
    assert "Too large" in text


def test_a_damaged_one_says_why_and_cannot_be_loaded(page, rows):
    page.set_rows(rows)
    page.select("/models/c.gguf")
    assert "c.gguf is damaged." in words(page)
    assert not button(page, "Load").isEnabled()
    page.select("/models/b.gguf")
    assert not button(page, "Load").isEnabled()


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("Load", "load_requested"),
        ("Show in folder", "reveal_requested"),
        ("Remove from list", "hide_requested"),
        ("Move to trash…", "trash_requested"),
    ],
)
def test_buttons_say_what_is_wanted(page, rows, qtbot, text, signal):
    told = heard(getattr(page.details, signal))
    page.set_rows(rows)
    page.select("/models/a.gguf")
    qtbot.mouseClick(button(page, text), Qt.MouseButton.LeftButton)
    assert told == [("/models/a.gguf",)]


def test_what_is_loaded_or_belongs_to_others_is_not_trashed(page, rows):
    loaded = replace(rows[0], is_loaded=True)
    page.set_rows([loaded, replace(rows[1], can_be_trashed=False)])
    page.select(loaded.path)
    assert not button(page, "Loaded").isEnabled()
    assert button(page, "Move to trash…").toolTip() == "Unload it first."
    page.select(rows[1].path)
    assert not button(page, "Move to trash…").isEnabled()
    assert "another program" in button(page, "Move to trash…").toolTip()


def test_search_by_anything_that_is_shown(page, rows, qtbot):
    page.set_rows(rows)
    box = page.findChild(QLineEdit, "searchModels")
    page.focus_search()
    qtbot.keyClicks(box, "LLAMA")
    assert shown(page) == ["a"]
    box.setText("nothing like it")
    assert shown(page) == []
    assert "No model matches “nothing like it”." in words(page)
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    assert shown(page) == ["a", "b", "c"]
    closed = heard(page.closed)
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    assert closed == [()]


def test_by_keyboard_alone(page, rows, qtbot):
    loads = heard(page.details.load_requested)
    page.set_rows(rows)
    page.focus_search()
    qtbot.keyClick(page.findChild(QLineEdit, "searchModels"), Qt.Key.Key_Down)
    qtbot.keyClick(view_of(page), Qt.Key.Key_Return)
    assert loads == [("/models/a.gguf",)]


def test_growing_keeps_choice_and_place(page, rows, qtbot):
    page.set_rows(rows[1:])
    page.select("/models/b.gguf")
    told = heard(page.selected)
    page.set_rows(rows)
    assert view_of(page).currentIndex().data() == "b"
    page.set_rows([rows[0], replace(rows[1], sheet=make_sheet())])
    qtbot.waitUntil(lambda: "1.1B" in words(page))
    page.set_rows([rows[0]])
    assert told == []


def test_rows_are_spoken_whole(page, rows):
    page.set_rows([replace(rows[0], is_loaded=True), *rows[1:]])
    model = view_of(page).model()
    spoken = [model.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole) for row in range(3)]
    assert spoken == [
        "a, Loaded, llama · 1.1B · Q4_K · 10 B, Fits",
        "b, 20 B · reading…",
        "c, 30 B · cannot be used, Unusable",
    ]


def test_markup_in_a_name_is_no_markup(page):
    page.set_rows([LibraryRow("/x/<img src='y'>.gguf", "<b>", 10)])
    tip = view_of(page).model().index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert "<img" not in tip
    assert "&lt;img" in tip


def test_everything_has_a_name(page, rows):
    page.set_rows(rows)
    for width in (820, 420):
        page.resize(width, 600)
        for child in page.findChildren(QPushButton):
            assert child.accessibleName() or child.text()
    for child in (*page.findChildren(QListView), *page.findChildren(QLineEdit)):
        assert child.accessibleName()


def test_large_words_do_not_keep_it_wide(page, qtbot):
    for name in page.findChildren(QPushButton):
        name.setMinimumWidth(300)
    page.resize(420, 700)
    qtbot.waitUntil(lambda: page._splitter.orientation() is Qt.Orientation.Vertical)


def test_narrow_stands_under_each_other(page, rows, qtbot):
    page.set_rows(rows)
    splitter = page._splitter
    assert splitter.orientation() is Qt.Orientation.Horizontal
    page.resize(420, 700)  # an X server answers later
    qtbot.waitUntil(lambda: splitter.orientation() is Qt.Orientation.Vertical)
    assert page.shelf.isVisible()
    page.show_downloads()
    assert not page.shelf.isVisible()
    page.downloads.closed.emit()
    assert page.shelf.isVisible()


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("zoom", [1.0, 2.0])
def test_it_paints_at_every_zoom(page, themes, rows, theme, zoom):
    page.set_rows([*rows, LibraryRow("/x", "a very long name " * 20, 10, sheet=make_sheet())])
    page.select("/x")
    themes.set(theme, zoom)
    assert not page.grab().isNull()


def test_while_there_is_nothing_one_sentence_and_one_button_stand_alone(page, rows, qtbot):
    assert not view_of(page).isVisible()
    assert not page.details.isVisible()
    page.set_trouble("/media/disk is not there now.")
    assert "/media/disk is not there now." in words(page)
    qtbot.mouseClick(button(page, "Download a model"), Qt.MouseButton.LeftButton)
    assert page.downloads.isVisible()
    assert not page.shelf.isVisible()
    page.downloads.closed.emit()
    assert button(page, "Download a model").isVisible()
    page.set_rows(rows)
    assert view_of(page).isVisible()
    assert "/media/disk is not there now." in words(page)
    page.set_trouble("")
    assert "/media/disk" not in words(page)


def test_the_sheet_is_never_an_empty_column(page, rows):
    page.set_rows(rows)
    assert page.current_path == rows[0].path
    page.set_rows([rows[0], replace(rows[1], is_loaded=True)])
    assert page.current_path == rows[1].path
    page.select(rows[0].path)
    page.set_rows([rows[0], replace(rows[1], is_loaded=True)])
    assert page.current_path == rows[0].path
    page.findChild(QLineEdit, "searchModels").setText("nothing like it")
    assert "Choose a model to see" in words(page)


def test_the_focus_stays_in_the_library_when_the_downloads_go(page, rows):
    page.set_rows(rows)
    page.show_downloads()
    assert page.downloads.field.hasFocus()
    page.select(rows[1].path)
    assert view_of(page).hasFocus()


def test_a_name_without_any_break_does_not_widen_the_sheet(page):
    path = f"/o/models/blobs/sha256-{'0123456789abcdef' * 4}"
    page.set_rows([LibraryRow(path, "gemma3:270m", 10, problem=f"{path} cannot be used.")])
    assert "sha256-0123456789abcde…6789abcdef cannot be used." in words(page)
    assert path not in words(page)


def test_models_in_other_orders(page, rows):
    old, new = replace(rows[0], modified_s=1), replace(rows[1], modified_s=3)
    page.set_rows([old, new, replace(rows[2], modified_s=2)])
    page.select(old.path)
    page.shelf.sort_by(SortKey.SIZE)
    assert shown(page) == ["c", "b", "a"]
    page.shelf.sort_by(SortKey.NEWEST)
    assert shown(page) == ["b", "c", "a"]
    assert page.current_path == old.path
    next(a for a in page.shelf._orders.actions() if a.text() == "By name").trigger()
    assert shown(page) == ["a", "b", "c"]


def test_what_is_foreseen_of_each_precision(page, rows, qtbot):
    fits = (
        PrecisionFit(Precision.INT4, Fit.FITS, 1 << 30, 1_024, 47.3, cpu_layers=12),
        PrecisionFit(Precision.INT8, Fit.FITS, 2 << 30, 2_048, 0.123),
    )
    page.set_rows([replace(rows[0], sheet=replace(make_sheet(), fits=fits))])
    qtbot.waitUntil(lambda: "12 layers" in words(page))
    assert "~47 tokens/s at full context · 12 layers on the CPU · room for 1,024 tokens" in words(
        page
    )
    assert "~0.1 tokens/s at full context" in words(page)


def test_folders_of_other_programs_can_be_left_out(page):
    told = heard(page.place_toggled)
    page.set_places([PlaceRow("/o", "Ollama"), PlaceRow("/j", "Jan & co", is_searched=False)])
    page._menu.fill()
    entries = {a.text(): a for a in page._menu.actions() if a.isCheckable()}
    assert {text: a.isChecked() for text, a in entries.items()} == {
        "Ollama": True,
        "Jan && co": False,
    }
    entries["Ollama"].trigger()
    assert told == [("/o", False)]


def test_folders_can_be_left_out(page):
    told = heard(page.folder_removed)
    page.set_folders(["/x/модели/a", "/b"])
    page._menu.fill()
    texts = [action.text() for action in page._menu.actions() if action.text()]
    assert texts == ["Add folder…", f"Leave out {Path('модели/a')}", "Leave out /b"]
    page._menu.actions()[2].trigger()
    assert told == [("/x/модели/a",)]
