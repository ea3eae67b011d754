"""Past runs of one experiment: one is shown, and another may stand beside it."""

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from ui.experiments.figures import words_label
from ui.experiments.rows import RunRow
from ui.i18n import tr
from ui.theme import ThemeSource, set_look
from ui.widgets.calm_box import CalmComboBox
from ui.widgets.flow import FlowLayout

_ID = Qt.ItemDataRole.UserRole
_MOST_ROWS = 6


class PastRuns(QWidget):
    """``chosen``, ``removed``: of the shown run; ``compared``: the other one, empty for none.

    ``restored``: the run that was removed last is wanted back.
    """

    chosen = Signal(str)
    compared = Signal(str)
    removed = Signal(str)
    restored = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._listed: tuple[tuple[RunRow, ...], str, str] | None = None
        title = words_label("small", self)
        title.setText(tr("Runs on this machine"))
        self.list = QListWidget(self)
        self.list.setAccessibleName(tr("Runs on this machine"))
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        set_look(self.list, "choice")
        self.list.currentItemChanged.connect(self._on_current)
        self._with = words_label("small", self)
        self._with.setText(tr("Compare with"))
        self._with.setWordWrap(False)
        self.other = CalmComboBox(self)
        self.other.setAccessibleName(tr("Compare with"))
        self.other.setMinimumContentsLength(30)
        self.other.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.other.activated.connect(self._on_other)
        self._remove = QPushButton(tr("Delete this run"), self)
        set_look(self._remove, "link-small")
        self._remove.clicked.connect(self._on_remove)
        self._restore = QPushButton(tr("Undo the deletion"), self)
        set_look(self._restore, "link-small")
        self._restore.clicked.connect(self.restored)
        self._restore.hide()
        tools = FlowLayout(8, 6)
        for widget in (self._with, self.other, self._remove, self._restore):
            tools.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 8, 0, 0)
        column.setSpacing(6)
        self._title = title
        column.addWidget(title)
        column.addWidget(self.list)
        column.addLayout(tools)
        themes.changed.connect(self._fit)

    def show_runs(self, rows: Sequence[RunRow], chosen: str, other: str) -> None:
        """List these, the latest first."""
        wanted = (tuple(rows), chosen, other)
        if wanted == self._listed:  # a box that is open for choosing must stay so
            return
        self._listed = wanted
        with QSignalBlocker(self.list):
            self.list.clear()
            self.other.clear()
            self.other.addItem(tr("nothing"), "")
            for row in rows:
                item = QListWidgetItem(row.words)
                item.setToolTip(row.words)
                item.setData(_ID, row.run_id)
                self.list.addItem(item)
                if row.run_id == chosen:
                    self.list.setCurrentItem(item)
                else:
                    self.other.addItem(row.words, row.run_id)
        self.other.setCurrentIndex(max(0, self.other.findData(other)))
        can_compare = len(rows) > 1 and bool(chosen)
        self._with.setVisible(can_compare)
        self.other.setVisible(can_compare)
        self._remove.setVisible(bool(chosen))
        self._title.setVisible(bool(rows))
        self.list.setVisible(bool(rows))
        self._fit()

    @property
    def stops(self) -> list[QWidget]:
        """Where the Tab key stops, in order."""
        return [self.list, self.other, self._remove, self._restore]

    def offer_undo(self, *, is_offered: bool) -> None:
        """Whether a removed run can come back."""
        self._restore.setVisible(is_offered)

    def _on_current(self) -> None:
        if (item := self.list.currentItem()) is not None:
            self.chosen.emit(item.data(_ID))

    def _on_other(self) -> None:
        self.compared.emit(self.other.currentData() or "")

    def _on_remove(self) -> None:
        if (item := self.list.currentItem()) is not None:
            self.removed.emit(item.data(_ID))

    def _fit(self) -> None:
        rows = min(_MOST_ROWS, self.list.count())
        each = self.list.sizeHintForRow(0) if rows else 0
        self.list.setFixedHeight(max(1, rows * each + 2 * self.list.frameWidth() + 2))
