"""The list of models follows the disk, the settings and the loaded model."""

import pytest
from PySide6.QtWidgets import QMessageBox, QPushButton

from app.application import StartOptions
from app.composition import EngineInspector
from app.controllers.library_search import take_some
from tests.helpers.gguf_files import llama_parameters, write_llama
from ui.library.page import LibraryPage


@pytest.fixture(autouse=True)
def no_other_programs(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))


@pytest.fixture
def shelf(tmp_path):
    folder = tmp_path / "модели 模型"
    folder.mkdir()
    write_llama(folder / "tiny.gguf", llama_parameters(), four_bit=True)
    (folder / "broken.gguf").write_bytes(b"no model at all")
    return folder


@pytest.fixture
def library(make_desk, shelf):
    desk = make_desk(has_model=False)
    desk.application.services.settings.set("library_folders", str(shelf))
    desk.begin()
    desk.window.show_library()
    return desk


def page_of(desk):
    return desk.window.findChild(LibraryPage)


def rows(desk):
    return {row.title: row for row in page_of(desk).shelf.rows}


def test_models_and_damaged_files_are_listed(library, shelf):
    listed = rows(library)
    assert list(listed) == ["broken", "tiny"]
    assert listed["tiny"].path == str(shelf / "tiny.gguf")
    assert listed["tiny"].sheet.num_layers == 2
    assert "broken.gguf is damaged or incomplete" in listed["broken"].problem
    assert library.notices == []


def test_load_goes_back_to_the_chat(library, shelf):
    page_of(library).details.load_requested.emit(str(shelf / "tiny.gguf"))
    library.play()
    assert library.application.controllers.model.info.path == str(shelf / "tiny.gguf")
    assert not page_of(library).isVisibleTo(library.window)
    assert rows(library)["tiny"].is_loaded


def test_the_loaded_model_counts_as_room(library, shelf, monkeypatch):
    asked = []
    sheet = EngineInspector.sheet

    def note(self, path, bytes_to_free):
        asked.append(bytes_to_free)
        return sheet(self, path, bytes_to_free)

    monkeypatch.setattr(EngineInspector, "sheet", note)
    page_of(library).details.load_requested.emit(str(shelf / "tiny.gguf"))
    library.play()
    info = library.application.controllers.model.info
    page_of(library).refresh_requested.emit()
    assert asked[-1] == info.weights_bytes + info.kv_budget_bytes > 0


def test_what_is_removed_stays_away_until_it_is_brought_again(library, shelf):
    path = str(shelf / "tiny.gguf")
    page_of(library).details.hide_requested.emit(path)
    assert "tiny" not in rows(library)
    page_of(library).refresh_requested.emit()
    assert "tiny" not in rows(library)
    assert (shelf / "tiny.gguf").exists()
    page_of(library).folder_added.emit(str(shelf))
    assert "tiny" in rows(library)


def test_folders_come_and_go(library, shelf, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    write_llama(other / "second.gguf", llama_parameters())
    page_of(library).folder_added.emit(str(other))
    assert list(rows(library)) == ["broken", "second", "tiny"]
    page_of(library).folder_removed.emit(str(shelf))
    assert list(rows(library)) == ["second"]
    settings = library.application.services.settings
    assert settings.text("library_folders") == str(other)
    page_of(library).folder_removed.emit(str(other))
    assert rows(library) == {}


def test_a_folder_that_is_gone_is_a_sentence(library, tmp_path):
    gone = tmp_path / "unplugged"
    page_of(library).folder_added.emit(str(gone))
    assert list(rows(library)) == ["broken", "tiny"]
    trouble = page_of(library).shelf._trouble
    assert trouble.text().startswith(f"{gone} is not there now.")
    gone.mkdir()
    page_of(library).refresh_requested.emit()
    assert trouble.text() == ""


def test_a_model_opened_by_its_path_is_listed_with_its_neighbours(library, tmp_path):
    folder = tmp_path / "Загрузки 下载"
    folder.mkdir()
    path = write_llama(folder / "opened.gguf", llama_parameters(), four_bit=True)
    write_llama(folder / "beside.gguf", llama_parameters(), four_bit=True)
    library.application.controllers.model.choose(str(path))
    library.play()
    assert list(rows(library)) == ["beside", "broken", "opened", "tiny"]
    assert rows(library)["opened"].is_loaded
    page_of(library).refresh_requested.emit()
    assert list(rows(library)) == ["beside", "broken", "opened", "tiny"]
    path.unlink()
    page_of(library).refresh_requested.emit()
    assert list(rows(library)) == ["beside", "broken", "tiny"]


def test_the_folder_of_a_loaded_model_is_looked_at_first_thing(make_desk, tmp_path):
    path = write_llama(tmp_path / "opened.gguf", llama_parameters(), four_bit=True)
    desk = make_desk(has_model=False).begin()
    desk.application.controllers.model.choose(str(path))
    desk.play()
    desk.window.show_library()
    assert list(rows(desk)) == ["opened"]
    assert page_of(desk).current_path == str(path)


def test_a_model_named_on_the_command_line_is_listed(make_desk, tmp_path):
    path = write_llama(tmp_path / "named.gguf", llama_parameters(), four_bit=True)
    desk = make_desk(has_model=False, options=StartOptions(model=str(path))).begin()
    assert desk.application.services.settings.recent_models() == []
    desk.window.show_library()
    assert list(rows(desk)) == ["named"]


def test_models_of_other_programs_can_be_left_out(library, tmp_path):
    theirs = tmp_path / "nobody" / ".lmstudio" / "models"
    theirs.mkdir(parents=True)
    write_llama(theirs / "theirs.gguf", llama_parameters(), four_bit=True)
    page = page_of(library)
    page.refresh_requested.emit()
    assert list(rows(library)) == ["broken", "theirs", "tiny"]
    page.place_toggled.emit(str(theirs), False)
    assert list(rows(library)) == ["broken", "tiny"]
    page._menu.fill()
    (entry,) = [action for action in page._menu.actions() if action.isCheckable()]
    assert (entry.text(), entry.isChecked()) == ("LM Studio", False)
    entry.trigger()
    assert list(rows(library)) == ["broken", "theirs", "tiny"]


def test_a_folder_that_cannot_be_shown_is_told(library, shelf):
    gone = shelf / "gone" / "x.gguf"
    page_of(library).details.reveal_requested.emit(str(gone))
    assert f"{gone.parent} could not be opened." in library.shown_notice


def trash_bin(monkeypatch, *, takes):
    moved = []

    class File:
        def __init__(self, path):
            self.path = path

        def moveToTrash(self):  # noqa: N802 - the name of Qt's
            moved.append(self.path)
            return takes

    monkeypatch.setattr("app.controllers.library.QFile", File)
    return moved


def test_the_trash_asks_once(library, shelf, monkeypatch):
    moved = trash_bin(monkeypatch, takes=True)
    path = str(shelf / "broken.gguf")
    page_of(library).details.trash_requested.emit(path)
    box = page_of(library).findChild(QMessageBox)
    assert path in box.informativeText()
    assert box.defaultButton().text() == "Cancel"
    assert moved == []
    next(b for b in box.findChildren(QPushButton) if b.text() == "Move to trash").click()
    assert moved == [path]
    assert list(rows(library)) == ["tiny"]


def test_the_trash_can_be_refused_by_the_user_and_by_the_system(library, shelf, monkeypatch):
    trash_bin(monkeypatch, takes=False)
    path = str(shelf / "broken.gguf")
    page_of(library).details.trash_requested.emit(path)
    box = page_of(library).findChild(QMessageBox)
    box.reject()
    assert "broken" in rows(library)
    page_of(library).details.trash_requested.emit(path)
    box = page_of(library).findChildren(QMessageBox)[-1]
    next(b for b in box.findChildren(QPushButton) if b.text() == "Move to trash").click()
    assert "could not be moved" in library.shown_notice
    assert "broken" in rows(library)


def test_a_search_is_taken_in_pieces():
    found, is_all = take_some(iter([None] * 200))
    assert (found, is_all) == ([], False)
    models = iter([object()] * 20)
    assert [len(take_some(models)[0]) for _ in range(3)] == [8, 8, 4]
    assert take_some(models) == ([], True)


def test_nothing_is_looked_at_before_the_page_is_opened(make_desk, shelf):
    desk = make_desk(has_model=False)
    desk.application.services.settings.set("library_folders", str(shelf))
    desk.begin()
    assert rows(desk) == {}
