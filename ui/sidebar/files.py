"""Asks where chats shall be saved, and which file of chats to add. Reads and writes nothing."""

import re
from collections.abc import Callable

from PySide6.QtCore import QObject, QStandardPaths, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from ui.i18n import tr

_UNFIT = re.compile(r'[\\/:*?"<>|\x00-\x1f]+')
_LONGEST_NAME = 60


class ChatFileDialogs(QObject):
    """None of them holds the window up: each says by signal what was chosen."""

    export_requested = Signal(int, str)
    export_all_requested = Signal(str)
    import_requested = Signal(str)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._widget = window
        self._exported = 0

    def ask_export(self, conversation_id: int, title: str) -> None:
        """Ask where one chat goes: Markdown to read, JSON to add it again elsewhere."""
        self._exported = conversation_id
        filters = [tr("Markdown (*.md)"), tr("JSON, can be added again (*.json)")]
        dialog = self._dialog(tr("Export the chat"), filters, self._on_export)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("md")
        dialog.filterSelected.connect(self._on_filter)
        dialog.selectFile(f"{file_name(title)}.md")
        dialog.open()

    def ask_export_all(self) -> None:
        """Ask where all chats go, as one file."""
        filters = [tr("JSON, can be added again (*.json)")]
        dialog = self._dialog(tr("Export all chats"), filters, self.export_all_requested.emit)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("json")
        dialog.selectFile("chats.json")
        dialog.open()

    def ask_import(self) -> None:
        """Ask for a file of chats."""
        filters = [tr("Chats (*.json)"), tr("All files (*)")]
        dialog = self._dialog(tr("Add chats from a file"), filters, self.import_requested.emit)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.open()

    def _dialog(
        self, title: str, filters: list[str], chosen: Callable[[str], object]
    ) -> QFileDialog:
        place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        dialog = QFileDialog(self._widget.window(), title, place)
        dialog.setObjectName("chatFile")
        dialog.setNameFilters(filters)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(chosen)
        return dialog

    def _on_export(self, path: str) -> None:
        self.export_requested.emit(self._exported, path)

    def _on_filter(self, chosen: str) -> None:
        dialog = self.sender()
        if not isinstance(dialog, QFileDialog):
            return
        suffix = "json" if "*.json" in chosen else "md"
        dialog.setDefaultSuffix(suffix)
        for path in dialog.selectedFiles()[:1]:
            name = path.replace("\\", "/").rsplit("/", 1)[-1]
            dialog.selectFile(f"{name.removesuffix('.md').removesuffix('.json')}.{suffix}")


def file_name(title: str) -> str:
    """A title as the name of a file on any system, without a suffix."""
    name = " ".join(_UNFIT.sub(" ", title).split()).strip(" .…")[:_LONGEST_NAME].strip()
    return name or tr("chat")
