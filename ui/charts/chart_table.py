"""The table twin of a chart, as a widget: the same values, for eyes and screen readers alike."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)
from typing_extensions import override

from ui.charts.figures import Table
from ui.theme import set_look

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class ChartTable(QTableWidget):
    """As high as its rows; scrolls sideways where its columns do not fit."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(0, 0, parent)
        self.setAccessibleName(name)
        self.verticalHeader().hide()
        self.setShowGrid(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabKeyNavigation(False)
        set_look(self, "figures")

    def set_table(self, table: Table) -> None:
        """Show these rows."""
        self.setColumnCount(len(table.headings))
        self.setRowCount(len(table.rows))
        for column, text in enumerate(table.titles or table.headings):
            item = QTableWidgetItem(text)
            item.setTextAlignment(_RIGHT if column else _LEFT)
            self.setHorizontalHeaderItem(column, item)
        for row, cells in enumerate(table.rows):
            for column, text in enumerate(cells):
                item = QTableWidgetItem(text)
                item.setTextAlignment(_RIGHT if column else _LEFT)
                self.setItem(row, column, item)
        self._share()
        self.fit()

    def _share(self) -> None:
        """Give the first column what the others leave, if that is enough for it."""
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        if self.columnCount() and header.length() <= self.viewport().width():
            header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share()

    def fit(self) -> None:
        """Take the height of all rows, and of a scroll bar where one may come."""
        rows = self.verticalHeader().length()
        height = rows + self.horizontalHeader().sizeHint().height() + 2 * self.frameWidth()
        self.setFixedHeight(height + self.horizontalScrollBar().sizeHint().height())
