"""Asking where chats go and come from."""

import pytest
from PySide6.QtWidgets import QFileDialog, QWidget

from ui.sidebar.files import ChatFileDialogs, file_name


@pytest.fixture
def files(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    return ChatFileDialogs(window)


def asked(files):
    (dialog,) = files.parent().findChildren(QFileDialog)
    return dialog


def test_a_chat_is_saved_as_markdown_or_json(qtbot, files):
    files.ask_export(7, "Why: is/it?")
    dialog = asked(files)
    assert dialog.selectedFiles()[0].endswith("Why is it.md")
    dialog.filterSelected.emit(dialog.nameFilters()[1])
    assert dialog.selectedFiles()[0].endswith("Why is it.json")
    with qtbot.waitSignal(files.export_requested) as signal:
        dialog.fileSelected.emit("/somewhere/chat.json")
    assert signal.args == [7, "/somewhere/chat.json"]
    dialog.close()


def test_all_chats_are_one_file_and_chats_come_from_one(qtbot, files):
    files.ask_export_all()
    with qtbot.waitSignal(files.export_all_requested):
        asked(files).fileSelected.emit("/somewhere/chats.json")
    asked(files).close()
    qtbot.waitUntil(lambda: not files.parent().findChildren(QFileDialog))
    files.ask_import()
    with qtbot.waitSignal(files.import_requested):
        asked(files).fileSelected.emit("/somewhere/chats.json")
    asked(files).close()


@pytest.mark.parametrize(
    ("title", "name"), [("a" * 90, "a" * 60), ("..", "chat"), ("潮汐…", "潮汐"), ("x\ty", "x y")]
)
def test_titles_become_names_of_files(title, name):
    assert file_name(title) == name
