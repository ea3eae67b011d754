"""Fetch a model: a repository's name, what it holds, and how the fetches go.

Asks for nothing by itself: each request follows a button that says so.
"""

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ui.i18n import tr
from ui.library.delegate import ModelDelegate
from ui.library.model import RowsModel
from ui.library.rows import OfferRow, TransferRow
from ui.library.transfers import TransferList
from ui.theme import ThemeSource, set_look

MARGIN = 18
_OFFER_ROWS = 6
_OFFER_HEIGHT = 56


class DownloadPanel(QWidget):
    """The right side of the library while something is fetched.

    ``appeared``: the first fetch is listed, which may be one that an earlier run did not finish.
    """

    look_up_requested = Signal(str)
    download_requested = Signal(int)
    folder_chosen = Signal(str)
    appeared = Signal()
    closed = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._folder_path = ""
        self._title = self._label("title", tr("Download a model"))
        self._close = QPushButton(tr("Close"), self)
        set_look(self._close, "quiet")
        self._close.clicked.connect(self.closed)
        self.field = self._build_field()
        self.look_up_button = QPushButton(tr("Look up"), self)
        self.look_up_button.clicked.connect(self._look_up)
        hint = tr("Nothing is sent before you press “Look up”.")
        self._message = self._label("small", hint)
        self._hint = hint
        self._model = RowsModel(self)
        self._list = self._build_list(themes)
        self._about = self._label("small")
        self.download_button = QPushButton(tr("Download"), self)
        set_look(self.download_button, "primary")
        self.download_button.clicked.connect(self._download)
        self._folder = self._label("small")
        self._change = QPushButton(tr("Change…"), self)
        self._change.clicked.connect(self._ask_for_folder)
        self.transfers = TransferList(self)
        self._arrange()
        themes.changed.connect(self._fit_list)
        self.set_offers((), "")

    # ------------------------------------------------------------------ what it is told

    def set_busy(self) -> None:
        """A look-up is under way."""
        self.set_offers((), "")
        self.look_up_button.setEnabled(False)
        self._say("small", tr("Asking the hub…"))

    def set_problem(self, text: str) -> None:
        """The look-up failed, in one sentence."""
        self.set_offers((), "")
        self._say("danger-small", text)

    def set_offers(self, rows: Sequence[OfferRow], about: str) -> None:
        """What can be fetched; ``about`` is a sentence on the repository."""
        self.look_up_button.setEnabled(True)
        self._model.set_rows(rows)
        self._about.setText(about)
        self._about.setVisible(bool(about))
        for widget in (self._list, self.download_button, self._folder, self._change):
            widget.setVisible(bool(rows))
        self._say("small", "" if rows else self._hint)
        best = next((row for row in rows if row.is_recommended), rows[0] if rows else None)
        if best is not None and not self._list.currentIndex().isValid():
            self._list.setCurrentIndex(self._model.place_of(best.key))
        self._fit_list()
        self._on_current()

    def set_folder(self, path: str) -> None:
        """Where the files will go."""
        self._folder_path = path
        self._folder.setText(tr("Saved in {folder}", folder=path))

    def set_transfers(self, rows: Sequence[TransferRow]) -> None:
        """How the fetches go."""
        is_first = bool(rows) and not self.transfers.views
        self.transfers.set_rows(rows)
        if is_first:
            self.appeared.emit()

    @property
    def is_fetching(self) -> bool:
        """Whether a fetch is under way."""
        return any(view.row.status.is_active for view in self.transfers.views)

    @property
    def message(self) -> str:
        """What stands under the field."""
        return self._message.text()

    # ------------------------------------------------------------------ building

    def _build_field(self) -> QLineEdit:
        field = QLineEdit(self)
        field.setObjectName("repository")
        field.setPlaceholderText(tr("owner/name"))
        field.setAccessibleName(tr("Repository on the hub"))
        field.returnPressed.connect(self._look_up)
        return field

    def _build_list(self, themes: ThemeSource) -> QListView:
        view = QListView(self)
        view.setObjectName("offers")
        view.setAccessibleName(tr("Models in the repository"))
        view.setModel(self._model)
        view.setItemDelegate(ModelDelegate(themes, view))
        view.setMouseTracking(True)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.selectionModel().currentChanged.connect(self._on_current)
        enter = QShortcut(QKeySequence(Qt.Key.Key_Return), view)
        enter.setContext(Qt.ShortcutContext.WidgetShortcut)
        enter.activated.connect(self._download)
        return view

    def _arrange(self) -> None:
        body = QWidget(self)
        set_look(body, "clear")
        body.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        column = QVBoxLayout(body)
        column.setContentsMargins(MARGIN, 12, MARGIN, 20)
        column.setSpacing(10)
        column.addLayout(_row(self._title, self._close))
        column.addLayout(_row(self.field, self.look_up_button))
        for widget in (self._message, self._about, self._list):
            column.addWidget(widget)
        column.addLayout(_row(self._folder, self._change))
        column.addWidget(self.download_button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addSpacing(6)
        column.addWidget(self.transfers)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(body)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(area)

    def _label(self, look: str, text: str = "") -> QLabel:
        label = QLabel(text, self)
        set_look(label, look)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    def _say(self, look: str, text: str) -> None:
        set_look(self._message, look)
        self._message.setText(text)
        self._message.setVisible(bool(text))

    def _fit_list(self) -> None:
        """As high as its rows, up to a handful."""
        shown = min(max(1, self._model.rowCount()), _OFFER_ROWS)
        self._list.setFixedHeight(shown * self._themes.px(_OFFER_HEIGHT) + 4)

    # ------------------------------------------------------------------ what the user does

    def _look_up(self) -> None:
        if self.look_up_button.isEnabled():
            self.look_up_requested.emit(self.field.text())

    def _on_current(self, *_indexes: QModelIndex) -> None:
        row = self._model.row_at(self._list.currentIndex())
        is_new = isinstance(row, OfferRow) and not row.is_here
        self.download_button.setEnabled(is_new)

    def _download(self) -> None:
        row = self._model.row_at(self._list.currentIndex())
        if isinstance(row, OfferRow) and not row.is_here:
            self.download_requested.emit(row.key)

    def _ask_for_folder(self) -> None:
        path = QFileDialog.getExistingDirectory(
            self, tr("Choose a folder for models"), self._folder_path
        )
        if path:
            self.folder_chosen.emit(path)


def _row(first: QWidget, second: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(8)
    row.addWidget(first, 1)
    row.addWidget(second, 0, Qt.AlignmentFlag.AlignTop)
    return row
