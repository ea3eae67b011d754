"""A scroll area that shows a ring when the keyboard enters it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractScrollArea, QWidget
from typing_extensions import override

from ui.theme import ThemeSource

_BY_TAB = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)


class RingedArea(QAbstractScrollArea):
    """Paints nothing but the ring."""

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ring_look = look
        self._shows_focus = False

    @property
    def shows_ring(self) -> bool:
        """Whether the ring is there, on the viewport and below whatever stands on that."""
        return self._shows_focus

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._shows_focus = event.reason() in _BY_TAB
        self.viewport().update()

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._shows_focus = False
        self.viewport().update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        if self._shows_focus:
            painter = QPainter(self.viewport())
            painter.setPen(QPen(self._ring_look.color("accent"), 2))
            painter.drawRect(self.viewport().rect().adjusted(1, 1, -1, -1))
            painter.end()
