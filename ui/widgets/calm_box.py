"""A box of choices for pages that scroll."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QComboBox, QStyledItemDelegate, QWidget
from typing_extensions import override


class CalmComboBox(QComboBox):
    """A choice that a passing scroll wheel does not change."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setItemDelegate(QStyledItemDelegate(self))  # the box's own knows no style sheet

    @override
    def wheelEvent(self, e: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(e)
        else:
            e.ignore()
