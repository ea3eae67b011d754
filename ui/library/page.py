"""The library: models on this computer at the left, one of them or a download at the right.

Shows what the controllers give it and says by signal what the user wants; it reads no file,
deletes none and connects to nothing.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QModelIndex, QSize, QSortFilterProxyModel, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QLineEdit,
    QListView,
    QMenu,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from ui.i18n import tr, tr_n
from ui.icons import Icon, make_icon
from ui.library.delegate import ModelDelegate
from ui.library.details import ModelDetails
from ui.library.download_panel import DownloadPanel
from ui.library.model import RowsModel
from ui.library.rows import LibraryRow
from ui.theme import ThemeSource, set_look

MARGIN = 18
ICON = 14
_WIDE = 620  # below it, the details stand under the list
_NARROWEST = 320


class LibraryPage(QWidget):
    """In the middle of the window, in place of the chat."""

    closed = Signal()
    selected = Signal(str)
    refresh_requested = Signal()
    folder_added = Signal(str)
    folder_removed = Signal(str)

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        set_look(self, "page")
        self._themes = themes
        self._folders: tuple[str, ...] = ()
        self._is_scanning = False
        self._is_updating = False
        self._model = RowsModel(self)
        self._filter = QSortFilterProxyModel(self)
        self._filter.setSourceModel(self._model)
        self._filter.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self._filter.setFilterRole(Qt.ItemDataRole.AccessibleTextRole)
        self.details = ModelDetails(themes, self)
        self.downloads = DownloadPanel(themes, self)
        self.downloads.closed.connect(self._show_details)
        self._right = QStackedWidget(self)
        self._right.addWidget(self.details)
        self._right.addWidget(self.downloads)
        self._back = self._button(tr("Back to the chat"), self.closed.emit)
        set_look(self._back, "quiet")
        self._search = self._build_search()
        self._refresh = self._button(tr("Search again"), self.refresh_requested.emit)
        self._folder_button = QPushButton(tr("Folders"), self)
        self._menu = QMenu(self)
        self._menu.aboutToShow.connect(self._fill_menu)
        self._folder_button.setMenu(self._menu)
        self._download = self._button(tr("Download…"), self.show_downloads)
        set_look(self._download, "primary")
        self._count = QLabel(self)
        set_look(self._count, "small")
        self._list = self._build_list(themes)
        self._empty = self._build_empty()
        self._left = QWidget(self)
        self._splitter = self._build_splitter()
        self._arrange()
        themes.changed.connect(self._on_theme)
        self._on_theme()
        self.set_rows(())

    # ------------------------------------------------------------------ what it is told

    def set_rows(self, rows: Sequence[LibraryRow]) -> None:
        """Show these models, in this order."""
        # the view chooses a neighbour when the chosen row goes; that is nobody's choice
        self._is_updating = True
        self._model.set_rows(rows)
        self._is_updating = False
        self.details.set_row(self._current())
        self._show_state()

    def set_folders(self, paths: Sequence[str]) -> None:
        """Folders the user added."""
        self._folders = tuple(paths)

    def set_scanning(self, *, is_scanning: bool) -> None:
        """Folders are being looked through, or no longer."""
        self._is_scanning = is_scanning
        self._refresh.setEnabled(not is_scanning)
        self._show_state()

    def select(self, path: str) -> None:
        """Choose a model and show its sheet."""
        place = self._filter.mapFromSource(self._model.place_of(path))
        if place.isValid():
            self._list.setCurrentIndex(place)

    def focus_search(self) -> None:
        """Put the caret into the search box."""
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()

    def show_downloads(self) -> None:
        """Open the download panel."""
        self._right.setCurrentWidget(self.downloads)
        self._share()
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
        box.textChanged.connect(self._on_search)
        for key, slot in (
            (Qt.Key.Key_Escape, self._on_escape),
            (Qt.Key.Key_Down, self._enter_list),
        ):
            shortcut = QShortcut(QKeySequence(key), box)
            shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(slot)
        return box

    def _build_list(self, themes: ThemeSource) -> QListView:
        view = QListView(self)
        view.setObjectName("models")
        view.setAccessibleName(tr("Models on this computer"))
        view.setModel(self._filter)
        view.setItemDelegate(ModelDelegate(themes, view))
        view.setMouseTracking(True)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.selectionModel().currentChanged.connect(self._on_current)
        view.doubleClicked.connect(self._load_current)
        enter = QShortcut(QKeySequence(Qt.Key.Key_Return), view)
        enter.setContext(Qt.ShortcutContext.WidgetShortcut)
        enter.activated.connect(self._load_current)
        return view

    def _build_empty(self) -> QLabel:
        label = QLabel(self)
        set_look(label, "muted")
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter)
        label.setContentsMargins(24, 48, 24, 0)
        return label

    def _build_splitter(self) -> QSplitter:
        column = QVBoxLayout(self._left)
        column.setContentsMargins(12, 4, 8, 8)
        column.setSpacing(4)
        for widget in (self._list, self._empty):
            column.addWidget(widget, 1)
        column.addWidget(self._count)
        splitter = QSplitter(Qt.Orientation.Horizontal, self)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(1)
        splitter.addWidget(self._left)
        splitter.addWidget(self._right)
        splitter.setStretchFactor(0, 1)
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([1, 1])
        return splitter

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
        column.addWidget(self._splitter, 1)

    # ------------------------------------------------------------------ what the user does

    def _on_search(self, text: str) -> None:
        self._filter.setFilterFixedString(text.strip())
        self._show_state()

    def _on_escape(self) -> None:
        if self._search.text():
            self._search.clear()
        else:
            self.closed.emit()

    def _enter_list(self) -> None:
        self._list.setFocus(Qt.FocusReason.OtherFocusReason)
        if not self._list.currentIndex().isValid():
            self._list.setCurrentIndex(self._filter.index(0, 0))

    def _on_current(self, *_indexes: QModelIndex) -> None:
        row = self._current()
        self.details.set_row(row)
        if row is not None and not self._is_updating:
            self._show_details()
            self.selected.emit(row.path)

    def _load_current(self) -> None:
        if self._current() is not None:
            self.details.load_button.click()

    def _fill_menu(self) -> None:
        self._menu.clear()
        self._menu.addAction(tr("Add folder…")).triggered.connect(self._ask_for_folder)
        if self._folders:
            self._menu.addSeparator()
        for path in self._folders:
            name = (Path(path).name or path).replace("&", "&&")  # one would underline a letter
            action = self._menu.addAction(tr("Leave out {folder}", folder=name))
            action.setToolTip(path)
            action.setData(path)
            action.triggered.connect(self._remove_folder)

    def _ask_for_folder(self) -> None:
        path = QFileDialog.getExistingDirectory(self, tr("Choose a folder with models"))
        if path:
            self.folder_added.emit(path)

    def _remove_folder(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.folder_removed.emit(str(action.data()))

    # ------------------------------------------------------------------ keeping it true

    def _current(self) -> LibraryRow | None:
        row = self._model.row_at(self._filter.mapToSource(self._list.currentIndex()))
        return row if isinstance(row, LibraryRow) else None

    def _show_details(self) -> None:
        self._right.setCurrentWidget(self.details)
        self._share()

    def _share(self) -> None:
        """Under each other there is no room for the list beside a download."""
        is_wide = self._splitter.orientation() is Qt.Orientation.Horizontal
        self._left.setVisible(is_wide or self._right.currentWidget() is self.details)

    def _show_state(self) -> None:
        """The list, or a sentence in its place; how many there are."""
        shown, total = self._filter.rowCount(), self._model.rowCount()
        self._list.setVisible(shown > 0)
        self._empty.setVisible(shown == 0)
        self._empty.setText(self._empty_words(total))
        words = tr_n("{n} model", "{n} models", total)
        if self._is_scanning:
            words = tr("{count}, still looking…", count=words)
        self._count.setText(words)
        self._count.setVisible(total > 0)

    def _empty_words(self, total: int) -> str:
        if total:
            return tr("No model matches “{text}”.", text=self._search.text().strip())
        if self._is_scanning:
            return tr("Looking for models…")
        return tr("No model was found. Add a folder that holds some, or download one.")

    def _on_theme(self) -> None:
        size = self._themes.px(ICON)
        for button, icon in (
            (self._back, Icon.CHEVRON_LEFT),
            (self._refresh, Icon.REFRESH),
            (self._folder_button, Icon.FOLDER),
        ):
            button.setIcon(make_icon(icon, self._themes.color("muted"), size))
            button.setIconSize(QSize(size, size))
        self._list.scheduleDelayedItemsLayout()
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
            self._splitter.setSizes([1, 1])
        self._share()
        for button, text in (
            (self._back, tr("Back to the chat")),
            (self._refresh, tr("Search again")),
            (self._folder_button, tr("Folders")),
        ):
            button.setText(text if is_wide else "")
            button.setAccessibleName(text)
            button.setToolTip("" if is_wide else text)
