"""The menu of folders that are looked through: the user's own, and those of other programs."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from ui.i18n import tr
from ui.library.rows import PlaceRow


class FolderMenu(QMenu):
    """Filled anew each time it opens."""

    added = Signal(str)
    removed = Signal(str)
    place_toggled = Signal(str, bool)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._folders: tuple[str, ...] = ()
        self._places: tuple[PlaceRow, ...] = ()
        self.setToolTipsVisible(True)
        self.aboutToShow.connect(self.fill)

    def set_folders(self, paths: Sequence[str]) -> None:
        """Folders the user added."""
        self._folders = tuple(paths)

    def set_places(self, places: Sequence[PlaceRow]) -> None:
        """Folders of other programs."""
        self._places = tuple(places)

    def fill(self) -> None:
        """Make the entries."""
        self.clear()
        self.addAction(tr("Add folder…")).triggered.connect(self._ask)
        if self._folders:
            self.addSeparator()
        for path in self._folders:
            action = self._entry(tr("Leave out {folder}", folder=_plain(_short(path))), path)
            action.triggered.connect(self._remove)
        if self._places:
            self.addSeparator()
            # not a section: styles may leave its words out
            self.addAction(tr("Kept by other programs")).setEnabled(False)
        for place in self._places:
            action = self._entry(_plain(place.program), place.path)
            action.setCheckable(True)
            action.setChecked(place.is_searched)
            action.toggled.connect(self._toggle)

    def _entry(self, text: str, path: str) -> QAction:
        action = self.addAction(text)
        action.setToolTip(path)
        action.setData(path)
        return action

    def _ask(self) -> None:
        path = QFileDialog.getExistingDirectory(
            self.parentWidget(), tr("Choose a folder with models")
        )
        if path:
            self.added.emit(path)

    def _remove(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.removed.emit(str(action.data()))

    def _toggle(self, is_on: bool) -> None:  # noqa: FBT001 - a slot of toggled(bool)
        action = self.sender()
        if isinstance(action, QAction):
            self.place_toggled.emit(str(action.data()), is_on)


def _short(path: str) -> str:
    """The folder and the one it is in: many are called "models"."""
    parts = Path(path).parts
    return str(Path(*parts[-2:])) if len(parts) > 2 else path


def _plain(name: str) -> str:
    """A name whose ampersands stay; a single one would underline a letter."""
    return name.replace("&", "&&")
