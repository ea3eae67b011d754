"""How the owners of blocks are told apart: by colour and by pattern, so that no colour is needed."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from ui.inspector.cache.picture import Owner
from ui.theme import ThemeSource

_TOKENS = {
    Owner.OWN: "stage_decode",
    Owner.SHARED: "stage_paint",
    Owner.OTHER: "stage_tokenize",
    Owner.KEPT: "stage_queue",
    Owner.FREE: "track",
}
_PATTERNS = {
    Owner.OWN: Qt.BrushStyle.SolidPattern,
    Owner.SHARED: Qt.BrushStyle.DiagCrossPattern,
    Owner.OTHER: Qt.BrushStyle.BDiagPattern,
    Owner.KEPT: Qt.BrushStyle.Dense5Pattern,
    Owner.FREE: Qt.BrushStyle.NoBrush,
}
_GROUND = 70  # of 255: what is below a pattern
_SWATCH = 12


def paint_owner(painter: QPainter, box: QRectF, owner: Owner, themes: ThemeSource) -> None:
    """Fill a box as the owner's; a free one is track with nothing on it."""
    color = themes.color(_TOKENS[owner])
    pattern = _PATTERNS[owner]
    if owner is Owner.FREE or pattern is Qt.BrushStyle.SolidPattern:
        painter.fillRect(box, color)
        return
    ground = QColor(color)
    ground.setAlpha(_GROUND)
    painter.fillRect(box, ground)
    brush = painter.brush()
    brush.setColor(color)
    brush.setStyle(pattern)
    painter.fillRect(box, brush)


class OwnerSwatch(QWidget):
    """A sample, for the legend."""

    def __init__(self, owner: Owner, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._owner = owner
        self._themes = themes
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        themes.changed.connect(self.updateGeometry)

    @override
    def sizeHint(self) -> QSize:
        side = self._themes.px(_SWATCH)
        return QSize(side, side)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        box = QRectF(self.rect())
        paint_owner(painter, box, self._owner, self._themes)
        painter.setPen(QPen(self._themes.color("muted"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))
        painter.end()
