"""The model setting: what is chosen, and a button that asks for a file or a folder."""

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QLabel, QMenu, QPushButton, QSizePolicy, QWidget
from typing_extensions import override

from ui.i18n import mark, tr
from ui.settings.editors import Editor
from ui.settings.fields import Field, SettingValue
from ui.theme import set_look


class ModelPathEditor(Editor):
    """Shows the file's name; ``file_chosen(path)`` when the user picked another."""

    file_chosen = Signal(str)

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(field, parent)
        self._path = ""
        self._shown = QLabel(self)
        self._shown.setWordWrap(True)
        self._shown.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._choose = QPushButton(tr("Choose…"), self)
        menu = QMenu(self._choose)
        menu.addAction(tr("A .gguf file…")).triggered.connect(self._ask_for_file)
        menu.addAction(tr("A folder with .safetensors files…")).triggered.connect(
            self._ask_for_folder
        )
        self._choose.setMenu(menu)
        set_look(self._choose, "menu")
        self._row.addWidget(self._shown, 1)
        self._row.addWidget(self._choose)
        self._name(self._choose)
        self.set_value(None)

    @override
    def input_widget(self) -> QWidget:
        return self._choose

    @override
    def set_value(self, value: SettingValue) -> None:
        self._path = "" if value is None else str(value)
        unset = self._field.automatic or mark("No model chosen")
        self._shown.setText(Path(self._path).name if self._path else tr(unset))
        self._shown.setToolTip(self._path)

    def take(self, path: str) -> None:
        """A file or folder was picked; an empty path is a cancelled dialog."""
        if path and path != self._path:
            self.set_value(path)
            self.file_chosen.emit(path)

    def _ask_for_file(self) -> None:
        path, _filter = QFileDialog.getOpenFileName(
            self,
            tr("Choose a model file"),
            str(Path(self._path).parent) if self._path else "",
            tr("Models (*.gguf);;All files (*)"),
        )
        self.take(path)

    def _ask_for_folder(self) -> None:
        path = QFileDialog.getExistingDirectory(
            self, tr("Choose a model folder"), self._path if Path(self._path).is_dir() else ""
        )
        self.take(path)
