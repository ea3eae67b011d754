"""Looks through folders for models, a few at a time, in the task thread "catalog".

Where: the app's own folders, those the user added, those of other programs, and beside models that
were opened by their path. Knows names and sizes; no header and no page.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.catalog.places import Place, known_places
from app.catalog.scan import Found, FoundModel, Unreachable, find_models, look_at, place_of
from app.controllers.library_services import LibraryServices

MODELS_AT_ONCE = 8
FOLDERS_AT_ONCE = 64
Batch = tuple[list[FoundModel | Unreachable], bool]


def take_some(search: Iterator[Found]) -> Batch:
    """Go on with a search for a moment; what was found, and whether that is all."""
    found: list[FoundModel | Unreachable] = []
    num_folders = 0
    for item in search:
        if item is None:
            num_folders += 1
        else:
            found.append(item)
        if len(found) >= MODELS_AT_ONCE or num_folders >= FOLDERS_AT_ONCE:
            return found, False
    return found, True


def _everything(folders: Iterable[Path], opened: Iterable[Path]) -> Iterator[Found]:
    """Run in the worker: even asking whether a folder is there can take long."""
    models = list(opened)
    yield from find_models(folders, (place_of(path) for path in models))
    # what no listing names, as in a store whose files are named by their content
    yield from (look_at(path) for path in models)


def _beside(path: Path) -> list[FoundModel]:
    """A model that was opened by its path, and its neighbours."""
    found = (look_at(path), *find_models((), [place_of(path)]))
    return [model for model in found if isinstance(model, FoundModel)]


class LibrarySearch(QObject):
    """One search at a time; a new one ends the one before.

    ``found`` carries FoundModels as they come. ``changed``: it began or ended, or ``places`` or
    ``unreachable`` are others.
    """

    found = Signal(list)
    failed = Signal(Exception)
    changed = Signal()

    def __init__(self, services: LibraryServices, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._services = services
        self._tasks = services.catalog
        self._settings = services.settings
        self._search: Iterator[Found] | None = None
        self._number = 0
        self.is_running = False
        self.places: tuple[Place, ...] = ()
        self.unreachable: tuple[Unreachable, ...] = ()

    def start(self, loaded: str = "") -> None:
        """Look through all folders again; and beside ``loaded``, the model that answers."""
        self._number += 1
        self._search = None
        self.is_running = True
        self.unreachable = ()
        self.changed.emit()
        on_places = partial(self._on_places, self._number, loaded)
        self._tasks.run(known_places, on_places, self.failed.emit)

    def look_beside(self, path: str) -> None:
        """Look at one model that was opened, and at its folder."""
        self._tasks.run(partial(_beside, Path(path)), self.found.emit, self.failed.emit)

    def stop(self) -> None:
        """End the search; nothing more is told."""
        self._number += 1
        self._search = None

    def is_left_out(self, place: Place) -> bool:
        """Whether the user does not want this program's models listed."""
        return str(place.path) in self._lines("library_hidden")

    # ------------------------------------------------------------------ inside

    def _on_places(self, number: int, loaded: str, places: list[Place]) -> None:
        if number != self._number:
            return  # another search has begun, or the app ends
        self.places = tuple(places)
        self._search = _everything(self._folders(), map(Path, self._opened(loaded)))
        self.changed.emit()
        self._go_on(self._search)

    def _folders(self) -> list[Path]:
        others = [place.path for place in self.places if not self.is_left_out(place)]
        return [self._services.folder, self._services.download_folder, *self._added(), *others]

    def _added(self) -> list[Path]:
        return [Path(line) for line in self._lines("library_folders")]

    def _opened(self, loaded: str) -> list[str]:
        paths = [loaded, self._settings.text("model_path"), *self._settings.recent_models()]
        return list(dict.fromkeys(path for path in paths if path))

    def _go_on(self, search: Iterator[Found]) -> None:
        self._tasks.run(
            partial(take_some, search), partial(self._on_batch, search), self.failed.emit
        )

    def _on_batch(self, search: Iterator[Found], batch: Batch) -> None:
        if search is not self._search:
            return
        items, is_all = batch
        models = [item for item in items if isinstance(item, FoundModel)]
        told = [item for item in items if isinstance(item, Unreachable)]
        wanted = {str(folder) for folder in (*self._added(), self._services.download_folder)}
        wanted -= {str(self._services.folder)}  # its folder is made with the first download
        self.unreachable += tuple(item for item in told if item.path in wanted)
        self.found.emit(models)
        if is_all:
            self._search = None
            self.is_running = False
        else:
            self._go_on(search)
        self.changed.emit()

    def _lines(self, key: str) -> list[str]:
        return self._settings.text(key).splitlines()
