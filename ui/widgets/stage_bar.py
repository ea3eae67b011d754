"""One thin bar whose parts are the stages of an answer, in proportion to their time."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent
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
    """Says its parts in words too, as tool tip and accessible description."""

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._stages: tuple[Stage, ...] = ()

    def set_stages(self, stages: Sequence[Stage], description: str) -> None:
        """Show the parts that took any time."""
        self._stages = tuple(stage for stage in stages if stage.duration_ns > 0)
        self.setToolTip(description)
        self.setAccessibleName(description)
        self.update()

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
        outline.addRoundedRect(QRectF(self.rect()), self.height() / 2, self.height() / 2)
        painter.setClipPath(outline)
        room = self.width() - _SEAM * (len(self._stages) - 1) - _LEAST * len(self._stages)
        x = 0.0
        for stage in self._stages:
            width = _LEAST + room * stage.duration_ns / total
            part = QRectF(x, 0, width, self.height())
            painter.fillRect(part, self._look.color(stage.token))
            x += width + _SEAM
        painter.setClipRect(self.rect(), Qt.ClipOperation.NoClip)
        painter.end()
