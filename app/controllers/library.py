"""The models on this computer: which there are, what is said of them, what is done with them.

Headers are read in the task thread "catalog", one after another, between two looks at the disk, so
that the list grows while it is read. Nothing is deleted without a question, and then it goes to
the trash.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QFile, QObject, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox

from app.catalog.scan import FoundModel, look_at
from app.controllers.library_search import LibrarySearch
from app.controllers.library_services import LibraryServices
from app.controllers.library_words import words_for_folders, words_for_library
from app.controllers.model import ModelController
from engine.api import ModelSheet
from ui.i18n import tr
from ui.library.page import LibraryPage
from ui.library.rows import LibraryRow, PlaceRow
from ui.widgets.units import bytes_quantity


@dataclass(frozen=True, slots=True)
class _Entry:
    """A model and what has been read of it; neither sheet nor problem before that."""

    model: FoundModel
    sheet: ModelSheet | None = None
    problem: str = ""

    @property
    def is_read(self) -> bool:
        return self.sheet is not None or bool(self.problem)


class LibraryController(QObject):
    """Keeps the page's list."""

    notice = Signal(str)
    changed_settings = Signal()

    def __init__(
        self, page: LibraryPage, model: ModelController, services: LibraryServices
    ) -> None:
        super().__init__(page)
        self._page = page
        self._model = model
        self._services = services
        self._settings = services.settings
        self._tasks = services.catalog
        self._inspector = services.inspector
        self._entries: dict[str, _Entry] = {}
        self._search = LibrarySearch(services, self)
        self._search.found.connect(self._on_found)
        self._search.failed.connect(self._on_error)
        self._search.changed.connect(self._on_search_changed)
        self._reading: str | None = None
        self._selected = ""
        self._was_opened = False
        page.refresh_requested.connect(self.refresh)
        page.selected.connect(self._on_selected)
        page.folder_added.connect(self._on_folder_added)
        page.folder_removed.connect(self._on_folder_removed)
        page.place_toggled.connect(self._on_place_toggled)
        page.details.load_requested.connect(self._on_load)
        page.details.reveal_requested.connect(self._on_reveal)
        page.details.hide_requested.connect(self._on_hide)
        page.details.trash_requested.connect(self._on_trash)
        model.changed.connect(self._on_model_changed)
        page.set_folders(self._lines("library_folders"))

    # ------------------------------------------------------------------ calls

    @Slot()
    def open(self) -> None:
        """The page is shown; the first time, the search begins."""
        if not self._was_opened:
            self._was_opened = True
            self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Look through all folders again, and read every header again."""
        self._entries.clear()
        self._show()
        self._search.start("" if self._model.info is None else self._model.info.path)

    @Slot(str)
    def add(self, path: str) -> None:
        """A model arrived: list it and choose it."""
        self._unhide(path)
        self._tasks.run(partial(look_at, Path(path)), self._on_arrived, self._on_error)

    @property
    def bytes_to_free(self) -> int:
        """What the loaded model gives back when another one takes its place."""
        info = self._model.info
        return 0 if info is None else info.weights_bytes + info.kv_budget_bytes

    @property
    def paths(self) -> frozenset[str]:
        """Every file that is listed."""
        return frozenset(f for entry in self._entries.values() for f in entry.model.files)

    def close(self, timeout_s: float) -> bool:
        """Begin nothing more and end the workers; False when one did not end in time."""
        self._search.stop()
        self._entries.clear()
        return self._services.close(timeout_s)

    # ------------------------------------------------------------------ search

    @Slot(list)
    def _on_found(self, models: list[FoundModel]) -> None:
        known = self.paths
        for model in models:
            if model.files[0] not in known:
                self._entries.setdefault(model.path, _Entry(model))
        self._show()
        self._read_next()

    @Slot()
    def _on_search_changed(self) -> None:
        search = self._search
        self._page.set_scanning(is_scanning=search.is_running)
        self._page.set_trouble(words_for_folders(search.unreachable))
        self._page.set_places(
            [PlaceRow(str(p.path), p.program, not search.is_left_out(p)) for p in search.places]
        )

    def _on_arrived(self, model: FoundModel | None) -> None:
        if model is None:
            return
        self._entries[model.path] = _Entry(model)
        self._show()
        if not self._page.downloads.is_fetching:  # else the user watches the others
            self._page.select(model.path)
        self._read_next()

    # ------------------------------------------------------------------ headers

    def _read_next(self) -> None:
        """Read one more header: that of the chosen model first."""
        if self._reading is not None:
            return
        hidden = self._hidden()
        waiting = [p for p, e in self._entries.items() if not e.is_read and p not in hidden]
        if not waiting:
            return
        path = self._selected if self._selected in waiting else waiting[0]
        self._reading = path
        self._tasks.run(
            partial(self._inspector.sheet, path, self.bytes_to_free),
            partial(self._on_sheet, path),
            partial(self._on_unreadable, path),
        )

    def _on_sheet(self, path: str, sheet: ModelSheet) -> None:
        self._note(path, sheet, "")

    def _on_unreadable(self, path: str, error: Exception) -> None:
        self._note(path, None, words_for_library(error))

    def _note(self, path: str, sheet: ModelSheet | None, problem: str) -> None:
        if path == self._reading:
            self._reading = None
        if (entry := self._entries.get(path)) is not None:
            self._entries[path] = replace(entry, sheet=sheet, problem=problem)
            self._show()
        self._read_next()

    @Slot()
    def _on_model_changed(self) -> None:
        """Which model is loaded, and how much memory is free, has changed."""
        if not self._was_opened or self._model.is_loading:
            return
        if self._model.info is not None and self._model.info.path not in self._entries:
            self._search.look_beside(self._model.info.path)
        self._show()
        self._read_again(self._page.current_path)

    @Slot(str)
    def _on_selected(self, path: str) -> None:
        """Judge the chosen one by the memory that is free now."""
        if path != self._selected:
            self._selected = path
            self._read_again(path)

    def _read_again(self, path: str) -> None:
        entry = self._entries.get(path)
        if entry is None or entry.sheet is None:
            return
        self._tasks.run(
            partial(self._inspector.sheet, path, self.bytes_to_free),
            partial(self._on_sheet, path),
            partial(self._on_unreadable, path),
        )

    # ------------------------------------------------------------------ what the user does

    @Slot(str)
    def _on_load(self, path: str) -> None:
        self._model.choose(path)
        self._page.closed.emit()

    @Slot(str)
    def _on_reveal(self, path: str) -> None:
        place = Path(path)
        folder = place if place.is_dir() else place.parent
        if not folder.is_dir() or not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            self.notice.emit(tr("{folder} could not be opened.", folder=folder))

    @Slot(str)
    def _on_hide(self, path: str) -> None:
        self._keep("library_hidden", [*self._lines("library_hidden"), path])
        self._show()

    @Slot(str)
    def _on_folder_added(self, path: str) -> None:
        known = self._lines("library_folders")
        if path not in known:
            self._keep("library_folders", [*known, path])
        self._unhide(path)
        self._page.set_folders(self._lines("library_folders"))
        self.refresh()

    @Slot(str)
    def _on_folder_removed(self, path: str) -> None:
        self._keep("library_folders", [k for k in self._lines("library_folders") if k != path])
        self._page.set_folders(self._lines("library_folders"))
        self.refresh()

    @Slot(str, bool)
    def _on_place_toggled(self, path: str, is_on: bool) -> None:  # noqa: FBT001 - a slot of a signal with a bool
        hidden = [known for known in self._lines("library_hidden") if known != path]
        self._keep("library_hidden", hidden if is_on else [*hidden, path])
        self.refresh()

    @Slot(str)
    def _on_trash(self, path: str) -> None:
        entry = self._entries.get(path)
        if entry is None:
            return
        box = QMessageBox(self._page)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setWindowTitle(tr("Move to trash"))
        box.setText(tr("Move {name} to the trash?", name=entry.model.title))
        size = str(bytes_quantity(entry.model.num_bytes))
        targets = _trashed(entry.model)
        box.setInformativeText(
            tr("{size} on the disk:\n{paths}", size=size, paths="\n".join(targets))
        )
        yes = box.addButton(tr("Move to trash"), QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        yes.clicked.connect(partial(self._trash, path, targets))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    def _trash(self, path: str, targets: tuple[str, ...], _checked: bool = False) -> None:  # noqa: FBT001,FBT002  a slot of clicked(bool)
        self._tasks.run(
            partial(_move_to_trash, targets), partial(self._on_trashed, path), self._on_error
        )

    def _on_trashed(self, path: str, left: str) -> None:
        if left:
            self.notice.emit(
                tr("{path} could not be moved to the trash; it was left as it is.", path=left)
            )
            return
        self._entries.pop(path, None)
        self._show()

    # ------------------------------------------------------------------ showing

    def _show(self) -> None:
        hidden = self._hidden()
        loaded = "" if self._model.info is None else self._model.info.path
        rows = [_row(e, loaded) for p, e in self._entries.items() if p not in hidden]
        self._page.set_rows(rows)

    def _hidden(self) -> frozenset[str]:
        return frozenset(self._lines("library_hidden"))

    def _unhide(self, path: str) -> None:
        """What the user brings is shown again, though it was once left out."""
        place = Path(path)
        kept = [k for k in self._lines("library_hidden") if not Path(k).is_relative_to(place)]
        self._keep("library_hidden", kept)

    def _lines(self, key: str) -> list[str]:
        return self._settings.text(key).splitlines()

    def _keep(self, key: str, lines: list[str]) -> None:
        self._settings.set(key, "\n".join(dict.fromkeys(lines)))
        self.changed_settings.emit()

    def _on_error(self, error: Exception) -> None:
        self.notice.emit(words_for_library(error))


def _row(entry: _Entry, loaded: str) -> LibraryRow:
    model = entry.model
    return LibraryRow(
        path=model.path,
        title=model.title,
        num_bytes=model.num_bytes,
        num_files=len(model.files),
        sheet=entry.sheet,
        problem=entry.problem,
        is_loaded=bool(loaded) and Path(loaded) == Path(model.path),
        can_be_trashed=not model.is_linked,
        modified_s=model.modified_s,
    )


def _trashed(model: FoundModel) -> tuple[str, ...]:
    """What goes: a model's files, or its folder."""
    return (model.path,) if model.is_folder else model.files


def _move_to_trash(paths: tuple[str, ...]) -> str:
    """Move all; the first path that would not go, or an empty string."""
    return next((path for path in paths if not QFile(path).moveToTrash()), "")
