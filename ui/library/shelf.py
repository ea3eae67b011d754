"""The list of models on this computer: how many, in which order, which of them match the search.

Shows what it is given and says by signal what is chosen.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QSize, QSortFilterProxyModel, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLabel,
    QListView,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from ui.i18n import tr, tr_n
from ui.icons import Icon, make_icon
from ui.library.delegate import ModelDelegate
from ui.library.model import RowsModel
from ui.library.rows import LibraryRow, SortKey
from ui.library.words import sort_words
from ui.theme import ThemeSource, set_look

_ICON = 12


def _by_name(row: LibraryRow) -> tuple[Any, ...]:
    return row.title.casefold(), row.path


def _by_size(row: LibraryRow) -> tuple[Any, ...]:
    return -row.num_bytes, *_by_name(row)


def _by_age(row: LibraryRow) -> tuple[Any, ...]:
    return -row.modified_s, *_by_name(row)


_ORDERS: Mapping[SortKey, Callable[[LibraryRow], tuple[Any, ...]]] = {
    SortKey.NAME: _by_name,
    SortKey.SIZE: _by_size,
    SortKey.NEWEST: _by_age,
}


class Shelf(QWidget):
    """The left side of the library.

    ``current_changed``: another row is shown or the shown one is new; ``chosen``: the user chose.
    Until the user has, the loaded model is the current one, or else the first.
    """

    current_changed = Signal()
    chosen = Signal(str)
    load_requested = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._order = SortKey.NAME
        self._rows: tuple[LibraryRow, ...] = ()
        self._search = ""
        self._is_scanning = False
        self._is_updating = False
        self._has_chosen = False
        self._model = RowsModel(self)
        self._filter = QSortFilterProxyModel(self)
        self._filter.setSourceModel(self._model)
        self._filter.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self._filter.setFilterRole(Qt.ItemDataRole.AccessibleTextRole)
        self._count = self._label("small")
        self._orders = QMenu(self)
        self._sort = self._build_sort()
        self._themes = themes
        self._list = self._build_list(themes)
        self._no_match = self._label("muted")
        self._no_match.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self._no_match.setContentsMargins(24, 48, 24, 0)
        self._trouble = self._label("danger-small")
        self._arrange()
        themes.changed.connect(self._dress)
        self._dress()
        self.set_trouble("")
        self.set_rows(())

    # ------------------------------------------------------------------ what it is told

    def set_rows(self, rows: Sequence[LibraryRow]) -> None:
        """Show these models, in the chosen order."""
        self._rows = tuple(rows)
        kept = self.current if self._has_chosen else None
        # the view chooses a neighbour when the chosen row goes; that is nobody's choice
        self._is_updating = True
        self._model.set_rows(self.rows)
        self._choose_again(kept)
        self._is_updating = False
        self._show_state()
        self.current_changed.emit()

    def set_search(self, text: str) -> None:
        """Show those only that hold ``text``."""
        self._search = text.strip()
        self._filter.setFilterFixedString(self._search)
        if self.current is None:
            self._choose_again(None)
        self._show_state()

    def set_scanning(self, *, is_scanning: bool) -> None:
        """Folders are being looked through, or no longer."""
        self._is_scanning = is_scanning
        self._show_state()

    def set_trouble(self, text: str) -> None:
        """Folders that cannot be read, a sentence each; an empty string for none."""
        self._trouble.setText(text)
        self._trouble.setVisible(bool(text))

    def select(self, path: str) -> None:
        """Choose a model."""
        place = self._filter.mapFromSource(self._model.place_of(path))
        if not place.isValid():
            return
        if place == self._list.currentIndex():
            self._choose(place)
        self._list.setCurrentIndex(place)

    def enter(self) -> None:
        """Give the list the keyboard."""
        self._list.setFocus(Qt.FocusReason.OtherFocusReason)

    def sort_by(self, order: SortKey) -> None:
        """Change the order."""
        self._order = order
        self._sort.setText(sort_words(order))
        self._has_chosen = self._has_chosen or self.current is not None
        self.set_rows(self._rows)

    @property
    def rows(self) -> tuple[LibraryRow, ...]:
        """What is listed, in its order."""
        return tuple(sorted(self._rows, key=_ORDERS[self._order]))

    @property
    def current(self) -> LibraryRow | None:
        """The model that is shown; None without any."""
        row = self._model.row_at(self._filter.mapToSource(self._list.currentIndex()))
        return row if isinstance(row, LibraryRow) else None

    @property
    def count_words(self) -> str:
        """How many there are."""
        return self._count.text()

    # ------------------------------------------------------------------ building

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        set_look(label, look)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    def _build_sort(self) -> QPushButton:
        button = QPushButton(sort_words(self._order), self)
        set_look(button, "quiet")
        button.setAccessibleName(tr("Order of the models"))
        button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the arrow behind the words
        button.clicked.connect(self._open_sort)
        group = QActionGroup(self._orders)
        for order in SortKey:
            action = self._orders.addAction(sort_words(order))
            action.setCheckable(True)
            action.setChecked(order is self._order)
            action.setData(order.value)
            group.addAction(action)
        group.triggered.connect(self._on_sort)
        return button

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
        view.clicked.connect(self._choose)
        view.doubleClicked.connect(self.load_requested)
        enter = QShortcut(QKeySequence(Qt.Key.Key_Return), view)
        enter.setContext(Qt.ShortcutContext.WidgetShortcut)
        enter.activated.connect(self.load_requested)
        return view

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(10, 6, 6, 2)
        head.addWidget(self._count, 1)
        head.addWidget(self._sort)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 4, 8, 8)
        column.setSpacing(4)
        column.addLayout(head)
        for widget in (self._list, self._no_match):
            column.addWidget(widget, 1)
        column.addWidget(self._trouble)

    # ------------------------------------------------------------------ what the user does

    def _open_sort(self) -> None:
        self._orders.popup(self._sort.mapToGlobal(self._sort.rect().bottomLeft()))

    def _on_sort(self, action: QAction) -> None:
        self.sort_by(SortKey(str(action.data())))

    def _on_current(self, place: QModelIndex) -> None:
        if not self._is_updating:
            self.current_changed.emit()
            if place.isValid():
                self._choose(place)

    def _choose(self, place: QModelIndex) -> None:
        row = self._model.row_at(self._filter.mapToSource(place))
        if isinstance(row, LibraryRow):
            self._has_chosen = True
            self.chosen.emit(row.path)

    def _choose_again(self, kept: LibraryRow | None) -> None:
        """Keep the choice where it is still there; else the loaded model, else the first."""
        place = QModelIndex()
        if kept is not None:
            place = self._filter.mapFromSource(self._model.place_of(kept.path))
        if not place.isValid():
            self._has_chosen = False
            loaded = next((row.path for row in self._rows if row.is_loaded), "")
            place = self._filter.mapFromSource(self._model.place_of(loaded))
        if not place.isValid():
            place = self._filter.index(0, 0)
        was_updating, self._is_updating = self._is_updating, True
        self._list.setCurrentIndex(place)
        self._is_updating = was_updating

    # ------------------------------------------------------------------ keeping it true

    def _dress(self) -> None:
        size = self._themes.px(_ICON)
        self._sort.setIcon(make_icon(Icon.CHEVRON_DOWN, self._themes.color("muted"), size))
        self._sort.setIconSize(QSize(size, size))
        self._list.scheduleDelayedItemsLayout()

    def _show_state(self) -> None:
        """The list, or a sentence in its place; how many there are."""
        shown, total = self._filter.rowCount(), self._model.rowCount()
        is_without_match = bool(total) and not shown
        self._list.setVisible(not is_without_match)
        self._no_match.setVisible(is_without_match)
        self._no_match.setText(tr("No model matches “{text}”.", text=self._search))
        words = tr_n("{n} model", "{n} models", total)
        if self._is_scanning:
            words = tr("{count}, still looking…", count=words)
        self._count.setText(words)
