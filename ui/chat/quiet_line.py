"""The grey line under an answer: text one can mark, and a way into the inspector.

Knows nothing of figures; the keyboard reaches the same by a button of the message's row.
"""

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from typing_extensions import override


class QuietLine(QLabel):
    """``clicked`` follows a press and release on one spot; a drag marks the text as ever."""

    clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pressed: QPointF | None = None
        self._is_clickable = False

    def set_clickable(self, *, is_clickable: bool) -> None:
        """Whether there is anything behind the line."""
        self._is_clickable = is_clickable
        shape = Qt.CursorShape.PointingHandCursor if is_clickable else Qt.CursorShape.IBeamCursor
        self.setCursor(shape)

    @override
    def mousePressEvent(self, ev: QMouseEvent) -> None:
        super().mousePressEvent(ev)
        is_left = ev.button() is Qt.MouseButton.LeftButton
        self._pressed = ev.position() if is_left else None

    @override
    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        super().mouseReleaseEvent(ev)
        pressed, self._pressed = self._pressed, None
        if pressed is None or not self._is_clickable or self.hasSelectedText():
            return
        moved = (ev.position() - pressed).manhattanLength()
        if moved < QApplication.startDragDistance():
            self.clicked.emit()
