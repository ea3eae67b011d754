"""The library's page and its controllers, made when the page is first shown.

The workers behind it are there from the beginning, and are ended here.
"""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.controllers.library_services import LibraryServices
from app.controllers.model import ModelController
from app.late.parts import Steps, imports
from ui.main_window import MainWindow
from ui.theme import ThemeSource
from ui.widgets.late_page import LatePage

if TYPE_CHECKING:
    from app.controllers.downloads import DownloadsController
    from app.controllers.library import LibraryController

LIBRARY = "library"


class LateLibrary(QObject):
    """Passes on what the controllers say."""

    notice = Signal(str)
    changed_settings = Signal()

    def __init__(
        self,
        place: LatePage,
        window: MainWindow,
        themes: ThemeSource,
        model: ModelController,
        services: LibraryServices,
    ) -> None:
        super().__init__(place)
        self._place = place
        self._window = window
        self._themes = themes
        self._model = model
        self._services = services
        self._library: LibraryController | None = None
        self._downloads: DownloadsController | None = None
        window.library_opened.connect(place.focus_first)

    def steps(self) -> Steps:
        """Make page and controllers."""
        yield from imports(
            "ui.library.rows",
            "ui.library.details",
            "ui.library.shelf",
            "ui.library.download_panel",
            "ui.library.page",
            "app.controllers.library_search",
            "app.controllers.library",
            "app.catalog.download",
            "app.catalog.offers",
        )
        from app.controllers.downloads import DownloadsController  # noqa: PLC0415 - as below
        from app.controllers.library import LibraryController  # noqa: PLC0415 - as below

        yield
        from ui.library.page import LibraryPage  # noqa: PLC0415 - most starts do not need it

        page = LibraryPage(self._themes, self._place)
        page.closed.connect(self._place.closed)
        yield
        library = LibraryController(page, self._model, self._services)
        downloads = DownloadsController(page.downloads, library, self._services)
        downloads.arrived.connect(library.add)
        for controller in (library, downloads):
            controller.notice.connect(self.notice)
            controller.changed_settings.connect(self.changed_settings)
            self._window.library_opened.connect(controller.open)
        self._library, self._downloads = library, downloads
        self._place.put(page, page.focus_search)
        if self._place.isVisible():
            library.open()
            downloads.open()

    def stop_downloads(self) -> None:
        """Stop everything under way; what has arrived is kept."""
        if self._downloads is not None:
            self._downloads.close()

    def close(self, timeout_s: float) -> bool:
        """Begin nothing more and end the workers; False when one did not end in time."""
        if self._library is not None:
            return self._library.close(timeout_s)
        return self._services.close(timeout_s)
