"""One thin bar whose parts are the stages of an answer, in proportion to their time."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from ui.theme import ThemeSource

_HEIGHT = 4
_WIDTH = 260
_SEAM = 1.0
_LEAST = 2.0


@dataclass(frozen=True, slots=True)
class Stage:
    """One part: its theme token ("stage_prefill"), its translated name, its nanoseconds."""

    token: str
    name: str
    duration_ns: int


class StageBar(QWidget):
    """Says its parts in words too, as tool tip and accessible description.

    As thin as its hint however high it is made: the rest can be clicked, too.
    """

    clicked = Signal()

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._look = look
        self._stages: tuple[Stage, ...] = ()

    def set_stages(self, stages: Sequence[Stage], description: str) -> None:
        """Show the parts that took any time."""
        self._stages = tuple(stage for stage in stages if stage.duration_ns > 0)
        self.setToolTip(description)
        self.setAccessibleName(description)
        self.update()

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take the press, so that the release comes here."""
        event.accept()

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        is_here = self.rect().contains(event.position().toPoint())
        if is_here and event.button() is Qt.MouseButton.LeftButton:
            self.clicked.emit()

    @override
    def sizeHint(self) -> QSize:
        return QSize(self._look.px(_WIDTH), self._look.px(_HEIGHT))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        total = sum(stage.duration_ns for stage in self._stages)
        if not total:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = QPainterPath()
        height = self.sizeHint().height()
        top = (self.height() - height) / 2
        outline.addRoundedRect(QRectF(0, top, self.width(), height), height / 2, height / 2)
        painter.setClipPath(outline)
        room = self.width() - _SEAM * (len(self._stages) - 1) - _LEAST * len(self._stages)
        x = 0.0
        for stage in self._stages:
            width = _LEAST + room * stage.duration_ns / total
            part = QRectF(x, top, width, height)
            painter.fillRect(part, self._look.color(stage.token))
            x += width + _SEAM
        painter.setClipRect(self.rect(), Qt.ClipOperation.NoClip)
        painter.end()
