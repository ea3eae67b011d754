"""A small table of words: names at the left, which may wrap, and figures at the right."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from ui.charts.figures import Table
from ui.i18n import tr
from ui.theme import set_look

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop


class FactGrid(QWidget):
    """As many rows and columns as its table has; a figure is never cut."""

    def __init__(self, name: str, parent: QWidget | None = None, *, gap: int = 12) -> None:
        super().__init__(parent)
        self._name = name
        self._table: Table | None = None
        self._cells: list[list[QLabel]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(gap)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(0, 1)
        self.setAccessibleName(name)

    @property
    def rows(self) -> list[list[str]]:
        """What is written in it, the headings first."""
        if self._table is None:
            return []
        return [list(row) for row in (self._table.headings, *self._table.rows)]

    def set_table(self, table: Table) -> None:
        """Show these rows."""
        if table == self._table:
            return
        self._table = table
        rows = [table.headings, *table.rows]
        while len(self._cells) < len(rows):
            self._add_row(len(table.headings))
        for row, labels in enumerate(self._cells):
            words: Sequence[str] = rows[row] if row < len(rows) else ()
            for column, label in enumerate(labels):
                label.setVisible(row < len(rows))
                label.setText(words[column] if column < len(words) else "")
        spoken = (tr(", ").join(word for word in row if word) for row in table.rows)
        self.setAccessibleDescription("; ".join(spoken))

    def _add_row(self, columns: int) -> None:
        row = len(self._cells)
        labels = []
        for column in range(columns):
            label = QLabel(self)
            label.setTextFormat(Qt.TextFormat.PlainText)
            set_look(label, "small" if row == 0 or column == 0 else "fact")
            label.setWordWrap(column == 0)
            if column:
                self._grid.addWidget(label, row, column, _RIGHT)
            else:
                self._grid.addWidget(label, row, column)
            labels.append(label)
        self._cells.append(labels)
