"""The sheet of keyboard shortcuts: one table, grouped, closed by Escape."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QGridLayout, QLabel, QWidget

from ui.actions import Shortcut
from ui.i18n import tr
from ui.theme import set_look


def key_words(keys: str) -> str:
    """A key sequence as this system writes it."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


class ShortcutSheet(QDialog):
    """Not modal: the window stays usable behind it."""

    def __init__(self, shortcuts: Sequence[Shortcut], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Keyboard shortcuts"))
        self.setModal(False)
        grid = QGridLayout(self)
        grid.setContentsMargins(24, 20, 24, 24)
        grid.setHorizontalSpacing(40)
        grid.setVerticalSpacing(8)
        group = ""
        for shortcut in shortcuts:
            if shortcut.group != group:
                group = shortcut.group
                self._add_heading(grid, tr(group))
            self._add_line(grid, shortcut)

    def _add_heading(self, grid: QGridLayout, text: str) -> None:
        if grid.count():
            grid.setRowMinimumHeight(grid.rowCount(), 8)
        label = QLabel(text, self)
        set_look(label, "small")
        grid.addWidget(label, grid.rowCount(), 0, 1, 2)

    def _add_line(self, grid: QGridLayout, shortcut: Shortcut) -> None:
        row = grid.rowCount()
        keys = QLabel(key_words(shortcut.keys), self)
        set_look(keys, "muted")
        grid.addWidget(QLabel(tr(shortcut.label), self), row, 0)
        grid.addWidget(keys, row, 1, Qt.AlignmentFlag.AlignRight)
