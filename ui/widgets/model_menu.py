"""The menu of the model pill: choosing, reloading and unloading a model.

Asks for files and says what was asked for; loads nothing.
"""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from ui.i18n import tr
from ui.widgets.model_pill import PillStatus


class ModelMenu(QMenu):
    """Filled anew each time it opens."""

    library_requested = Signal()
    file_chosen = Signal(str)
    recent_chosen = Signal(str)
    reload_requested = Signal()
    unload_requested = Signal()
    load_cancel_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._status = PillStatus.NONE
        self._recent: tuple[tuple[str, str], ...] = ()
        self._folder = ""
        self.aboutToShow.connect(self.fill)

    def set_status(self, status: PillStatus) -> None:
        """Whether a model answers, is loaded or failed to."""
        self._status = status

    def set_recent_models(self, paths: Sequence[str]) -> None:
        """Models to offer, latest first; behind a tab the name of one whose file has none."""
        parts = (entry.partition("\t") for entry in paths)
        self._recent = tuple((path, name) for path, _tab, name in parts)

    def set_models_folder(self, folder: str) -> None:
        """Where to look for models while none has been used."""
        self._folder = folder

    def fill(self) -> None:
        """Offer what makes sense now."""
        status = self._status
        self.clear()
        self.addAction(tr("All models…")).triggered.connect(self.library_requested)
        self.addAction(tr("Choose a model file…")).triggered.connect(self.choose_file)
        self.addAction(tr("Choose a model folder…")).triggered.connect(self._choose_folder)
        self.addSeparator()
        if status is PillStatus.LOADING:
            self.addAction(tr("Cancel loading")).triggered.connect(self.load_cancel_requested)
        again = self.addAction(tr("Reload"))
        again.setEnabled(status in {PillStatus.READY, PillStatus.FAILED})
        again.triggered.connect(self.reload_requested)
        unload = self.addAction(tr("Unload"))
        unload.setEnabled(status is PillStatus.READY)
        unload.triggered.connect(self.unload_requested)
        if self._recent:
            self.addSection(tr("Recent models"))
        for path, name in self._recent:
            recent = self.addAction(name or Path(path).name)
            recent.setToolTip(path)
            recent.setData(path)
            recent.triggered.connect(self._choose_recent)

    def choose_file(self) -> None:
        """Ask for a model file."""
        path, _filter = QFileDialog.getOpenFileName(
            self.parentWidget(),
            tr("Choose a model file"),
            self._first_folder(),
            tr("Models (*.gguf);;All files (*)"),
        )
        if path:
            self.file_chosen.emit(path)

    def _choose_folder(self) -> None:
        path = QFileDialog.getExistingDirectory(
            self.parentWidget(), tr("Choose a model folder"), self._first_folder()
        )
        if path:
            self.file_chosen.emit(path)

    def _first_folder(self) -> str:
        """Beside the model used last, as far as that folder is still there."""
        folders = (Path(path).parent for path, _name in self._recent)
        return next((str(folder) for folder in folders if folder.is_dir()), self._folder)

    def _choose_recent(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.recent_chosen.emit(str(action.data()))
