"""The library: models on this computer at the left, one of them or a download at the right.

Shows what the controllers give it and says by signal what the user wants; it reads no file,
deletes none and connects to nothing.
"""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLayout,
    QLineEdit,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from ui.i18n import tr
from ui.icons import Icon, make_icon
from ui.library.details import ModelDetails
from ui.library.download_panel import DownloadPanel
from ui.library.folder_menu import FolderMenu
from ui.library.nothing import NoModels
from ui.library.rows import LibraryRow, PlaceRow
from ui.library.shelf import Shelf
from ui.theme import ThemeSource, set_look

MARGIN = 18
ICON = 14
_WIDE = 620  # below it, the details stand under the list
_NARROWEST = 320
_SHEET = 384


class LibraryPage(QWidget):
    """In the middle of the window, in place of the chat."""

    closed = Signal()
    selected = Signal(str)
    refresh_requested = Signal()
    folder_added = Signal(str)
    folder_removed = Signal(str)
    place_toggled = Signal(str, bool)

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        set_look(self, "page")
        self._themes = themes
        self._is_dragged = False
        # each is made where it stands: what changes its parents has its style worked out anew
        self._middle = QStackedWidget(self)
        self._splitter = QSplitter(Qt.Orientation.Horizontal, self._middle)
        self._right = QStackedWidget(self._splitter)
        self.shelf = Shelf(themes, self._splitter)
        self.shelf.current_changed.connect(self._on_current)
        self.shelf.chosen.connect(self._on_chosen)
        self.shelf.load_requested.connect(self._load_current)
        self.details = ModelDetails(themes, self._right)
        self.downloads = DownloadPanel(themes, self._right)
        self.downloads.closed.connect(self._show_details)
        self.downloads.appeared.connect(self._show_fetches)
        self._right.addWidget(self.details)
        self._right.addWidget(self.downloads)
        self._nothing = NoModels(themes, self._middle)
        self._nothing.download_requested.connect(self.show_downloads)
        self._back = self._button(tr("Back to the chat"), self.closed.emit)
        set_look(self._back, "quiet")
        self._search = self._build_search()
        self._refresh = self._button(tr("Search again"), self.refresh_requested.emit)
        self._folder_button = QPushButton(tr("Folders"), self)
        self._menu = FolderMenu(self)
        self._menu.added.connect(self.folder_added)
        self._menu.removed.connect(self.folder_removed)
        self._menu.place_toggled.connect(self.place_toggled)
        self._folder_button.setMenu(self._menu)
        self._download = self._button(tr("Download…"), self.show_downloads)
        set_look(self._download, "primary")
        self._fill_splitter()
        self._middle.addWidget(self._nothing)
        self._middle.addWidget(self._splitter)
        self._arrange()
        themes.changed.connect(self._on_theme)
        self._on_theme()

    # ------------------------------------------------------------------ what it is told

    def set_rows(self, rows: Sequence[LibraryRow]) -> None:
        """Show these models."""
        self.shelf.set_rows(rows)
        self._share()

    def set_folders(self, paths: Sequence[str]) -> None:
        """Folders the user added."""
        self._menu.set_folders(paths)

    def set_places(self, places: Sequence[PlaceRow]) -> None:
        """Folders of other programs."""
        self._menu.set_places(places)

    def set_scanning(self, *, is_scanning: bool) -> None:
        """Folders are being looked through, or no longer."""
        self._refresh.setEnabled(not is_scanning)
        self.shelf.set_scanning(is_scanning=is_scanning)
        self._nothing.show_state(is_scanning=is_scanning)

    def set_trouble(self, text: str) -> None:
        """Folders that cannot be read, a sentence each; an empty string for none."""
        self.shelf.set_trouble(text)
        self._nothing.set_trouble(text)

    def select(self, path: str) -> None:
        """Choose a model and show its sheet."""
        self.shelf.select(path)

    @property
    def current_path(self) -> str:
        """The model whose sheet is shown; an empty string for none."""
        row = self.shelf.current
        return "" if row is None else row.path

    def focus_search(self) -> None:
        """Put the caret into the search box."""
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()

    def show_downloads(self) -> None:
        """Open the download panel."""
        self._show_fetches()
        self.downloads.field.setFocus(Qt.FocusReason.OtherFocusReason)

    # ------------------------------------------------------------------ building

    def _button(self, text: str, slot: Callable[[], object]) -> QPushButton:
        button = QPushButton(text, self)
        button.clicked.connect(slot)
        return button

    def _build_search(self) -> QLineEdit:
        box = QLineEdit(self)
        box.setObjectName("searchModels")
        set_look(box, "search")
        box.setPlaceholderText(tr("Search models"))
        box.setAccessibleName(tr("Search models"))
        box.setClearButtonEnabled(True)
        box.textChanged.connect(self.shelf.set_search)
        for key, slot in (
            (Qt.Key.Key_Escape, self._on_escape),
            (Qt.Key.Key_Down, self.shelf.enter),
        ):
            shortcut = QShortcut(QKeySequence(key), box)
            shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(slot)
        return box

    def _fill_splitter(self) -> None:
        splitter = self._splitter
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(1)
        splitter.addWidget(self.shelf)
        splitter.addWidget(self._right)
        splitter.setStretchFactor(0, 1)
        splitter.splitterMoved.connect(self._on_splitter)

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(MARGIN, 4, MARGIN, 10)
        head.setSpacing(8)
        head.addWidget(self._back)
        head.addWidget(self._search, 1)
        for button in (self._refresh, self._folder_button, self._download):
            head.addWidget(button)
        line = QFrame(self)
        set_look(line, "hairline")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        # the wide form must not keep the page from becoming narrow, which is when it changes
        column.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        column.addLayout(head)
        column.addWidget(line)
        column.addWidget(self._middle, 1)

    # ------------------------------------------------------------------ what the user does

    def _on_escape(self) -> None:
        if self._search.text():
            self._search.clear()
        else:
            self.closed.emit()

    def _on_current(self) -> None:
        self.details.set_row(self.shelf.current)

    def _on_chosen(self, path: str) -> None:
        self._show_details()
        self.selected.emit(path)

    def _load_current(self) -> None:
        if self.shelf.current is not None:
            self.details.load_button.click()

    def _on_splitter(self) -> None:
        self._is_dragged = True  # from now on the user decides how wide the sheet is

    # ------------------------------------------------------------------ keeping it true

    def _show_fetches(self) -> None:
        self._right.setCurrentWidget(self.downloads)
        self._share()

    def _show_details(self) -> None:
        focused = QApplication.focusWidget()
        if focused is not None and self.downloads.isAncestorOf(focused):
            self.shelf.enter()  # what is hidden loses the focus to whatever comes first
        self._right.setCurrentWidget(self.details)
        self._share()

    def _share(self) -> None:
        """What there is to show: nothing yet, a download alone, or the list and what is beside it.

        Under each other there is no room for the list beside a download.
        """
        is_wide = self._splitter.orientation() is Qt.Orientation.Horizontal
        is_download = self._right.currentWidget() is self.downloads
        has_models = bool(self.shelf.rows)
        self.shelf.setVisible(has_models and (is_wide or not is_download))
        shows_list = has_models or is_download
        self._middle.setCurrentWidget(self._splitter if shows_list else self._nothing)

    def _on_theme(self) -> None:
        size = self._themes.px(ICON)
        for button, icon in (
            (self._back, Icon.CHEVRON_LEFT),
            (self._refresh, Icon.REFRESH),
            (self._folder_button, Icon.FOLDER),
        ):
            button.setIcon(make_icon(icon, self._themes.color("muted"), size))
            button.setIconSize(QSize(size, size))
        self._turn()

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(_NARROWEST), self._themes.px(_NARROWEST))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._turn()

    def _turn(self) -> None:
        """Side by side where there is room, else one under the other; words or icons alone."""
        is_wide = self.width() >= self._themes.px(_WIDE)
        wanted = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        if self._splitter.orientation() is not wanted:
            self._splitter.setOrientation(wanted)
            self._is_dragged = False
        if not self._is_dragged:
            room = self.width() if is_wide else self.height()
            sheet = min(self._themes.px(_SHEET), room // 2 + room // 10) if is_wide else room // 2
            self._splitter.setSizes([room - sheet, sheet])
        self._share()
        for button, text in (
            (self._back, tr("Back to the chat")),
            (self._refresh, tr("Search again")),
            (self._folder_button, tr("Folders")),
        ):
            button.setText(text if is_wide else "")
            button.setAccessibleName(text)
            button.setToolTip("" if is_wide else text)
