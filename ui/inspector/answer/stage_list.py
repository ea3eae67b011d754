"""The stages as a table: when each began, how long it took, and its share of the whole."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QIcon, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)
from typing_extensions import override

from ui.i18n import tr
from ui.inspector.answer.lanes import Pipeline, Row, exact_ms, share_words
from ui.theme import SMALL_FONT_PX, ThemeSource

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_START = 1
_SWATCH = 8
_ROW = 24
# below this width where a stage began is told by the pointer alone
_WIDE = 340


class StageList(QTableWidget):
    """``chosen``: the lane of the row that is chosen, -1 for none."""

    chosen = Signal(int)

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(0, 4, parent)
        self._themes = themes
        self._pipeline: Pipeline | None = None
        self.setAccessibleName(tr("Stages of the answer"))
        self._cells: list[list[QTableWidgetItem]] = []
        headings = (tr("Stage"), tr("Start (ms)"), tr("Time (ms)"), tr("Share"))
        for column, text in enumerate(headings):
            heading = QTableWidgetItem(text)
            heading.setTextAlignment(_RIGHT if column else _LEFT)
            self.setHorizontalHeaderItem(column, heading)
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(16)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        header = self.horizontalHeader()
        header.setMinimumSectionSize(24)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in range(1, 4):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        self.itemSelectionChanged.connect(self._on_selection)
        themes.changed.connect(self._rebuild)

    def set_pipeline(self, pipeline: Pipeline) -> None:
        """Show these stages; the row that is chosen stays so."""
        if pipeline == self._pipeline:
            return
        before, self._pipeline = self._pipeline, pipeline
        if before is None or len(before.rows) != len(pipeline.rows):
            self._rebuild()
        else:
            self._fill()

    def _rebuild(self) -> None:
        if self._pipeline is None:
            return
        self.clearSelection()
        self.setIconSize(QSize(self._themes.px(_SWATCH), self._themes.px(_SWATCH)))
        self.setRowCount(len(self._pipeline.rows) + 1)
        self._cells = [
            [QTableWidgetItem() for _column in range(self.columnCount())]
            for _row in range(self.rowCount())
        ]
        for row, cells in enumerate(self._cells):
            for column, item in enumerate(cells):
                item.setTextAlignment(_RIGHT if column else _LEFT)
                self.setItem(row, column, item)
        self._fill()
        self._fit()

    def _fill(self) -> None:
        pipeline = self._pipeline
        assert pipeline is not None
        for number, row in enumerate(pipeline.rows):
            self._fill_row(number, row)
        words = (pipeline.total_label, "", exact_ms(pipeline.total_ns), share_words(1_000))
        font = QFont(self._themes.font(SMALL_FONT_PX, QFont.Weight.DemiBold))
        for item, text in zip(self._cells[-1], words, strict=True):
            item.setText(text)
            item.setFont(font)

    def _fill_row(self, number: int, row: Row) -> None:
        indent = "    " if row.is_part else ""
        words = (
            indent + row.label,
            exact_ms(row.start_ns),
            exact_ms(row.duration_ns),
            "" if row.is_part else share_words(row.tenths),
        )
        tip = "\n".join((row.label, *row.lines))  # a narrow column cuts the name
        for item, text in zip(self._cells[number], words, strict=True):
            item.setText(text)
            item.setToolTip(tip)
        first = self._cells[number][0]
        if not row.is_part:
            first.setIcon(_swatch(self._themes.color(row.token)))
        said = f"{row.label}: {words[2]} ms, {words[3]}"
        first.setData(Qt.ItemDataRole.AccessibleTextRole, said)
        if row.lines:
            description = ", ".join(row.lines)
            first.setData(Qt.ItemDataRole.AccessibleDescriptionRole, description)

    def _fit(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self._themes.px(_ROW))
        rows = self.verticalHeader().length()
        self.setFixedHeight(
            rows + self.horizontalHeader().sizeHint().height() + 2 * self.frameWidth()
        )

    def _on_selection(self) -> None:
        rows = self.selectionModel().selectedRows()
        pipeline = self._pipeline
        number = rows[0].row() if rows else -1
        if pipeline is None or not 0 <= number < len(pipeline.rows):
            self.chosen.emit(-1)
        else:
            self.chosen.emit(pipeline.rows[number].lane)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.setColumnHidden(_START, self.width() < self._themes.px(_WIDE))


def _swatch(color: QColor) -> QIcon:
    pixmap = QPixmap(16, 16)
    pixmap.fill(color)
    return QIcon(pixmap)
