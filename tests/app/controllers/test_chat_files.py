"""Chats that leave as files, and come from files."""

import pytest

from ui.sidebar.panel import Sidebar


@pytest.fixture
def files(desk):
    for question in ("the tide", "a kraken"):
        desk.chat.open(None)
        desk.send(question)
        desk.play()
    return desk.window.findChild(Sidebar).files


def notice(desk):
    return desk.shown_notice


def test_a_chat_is_saved_to_be_read(desk, files, tmp_path):
    path = tmp_path / "tide.md"
    files.export_requested.emit(desk.chat.open_chat.conversation_id, str(path))
    assert path.read_text(encoding="utf-8").startswith("# a kraken\n\n**User**\n\na kraken\n\n")
    assert str(path) in notice(desk)
    assert [file.name for file in tmp_path.glob("tide*")] == ["tide.md"]


def test_all_chats_can_be_added_again(desk, files, tmp_path):
    path = tmp_path / "chats.json"
    files.export_all_requested.emit(str(path))
    before = desk.texts
    desk.chat.open(None)
    files.import_requested.emit(str(path))
    assert notice(desk) == "2 chats were added."
    assert desk.texts == before
    assert len(desk.store.conversations()) == 4


@pytest.mark.parametrize("content", [b"{}", b"\xff\xfe", None])
def test_another_file_changes_nothing(desk, files, tmp_path, content):
    path = tmp_path / "other.json"
    if content is not None:
        path.write_bytes(content)
    files.import_requested.emit(str(path))
    assert notice(desk).startswith("No chat could be read from this file (")
    assert len(desk.store.conversations()) == 2


def test_a_folder_that_cannot_be_written_is_told(desk, files, tmp_path):
    files.export_all_requested.emit(str(tmp_path / "missing" / "chats.json"))
    assert notice(desk).startswith("The file could not be written (")
