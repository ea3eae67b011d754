"""How the owners of blocks are told apart: by colour and by pattern, so that no colour is needed."""

from collections.abc import Iterator

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from ui.inspector.cache.picture import Owner
from ui.theme import ThemeSource

_TOKENS = {
    Owner.OWN: "stage_decode",
    Owner.SHARED: "stage_paint",
    Owner.OTHER: "stage_tokenize",
    Owner.EXPERIMENT: "stage_prefill",
    Owner.KEPT: "stage_queue",
    Owner.FREE: "track",
}
_PATTERNS = {
    Owner.OWN: Qt.BrushStyle.SolidPattern,
    Owner.SHARED: Qt.BrushStyle.DiagCrossPattern,
    Owner.OTHER: Qt.BrushStyle.BDiagPattern,
    Owner.EXPERIMENT: Qt.BrushStyle.CrossPattern,
    Owner.KEPT: Qt.BrushStyle.Dense5Pattern,
    Owner.FREE: Qt.BrushStyle.NoBrush,
}
_GROUND = 70  # of 255: what is below a pattern
_SWATCH = 12


class OwnerBrushes:
    """How each owner's boxes are filled in the scheme in force: a free one is track alone."""

    def __init__(self, themes: ThemeSource) -> None:
        self._brushes = {owner: tuple(_brushes(owner, themes)) for owner in Owner}
        self._nothing = (
            QBrush(themes.color("background")),
            QBrush(themes.color(_TOKENS[Owner.FREE])),
        )

    def fill(self, painter: QPainter, box: QRectF, owner: Owner) -> None:
        """Fill a box as the owner's."""
        for brush in self._brushes[owner]:
            painter.fillRect(box, brush)

    def clear(self, painter: QPainter, box: QRectF) -> None:
        """Make a part of a box look free again."""
        for brush in self._nothing:
            painter.fillRect(box, brush)


def _brushes(owner: Owner, themes: ThemeSource) -> Iterator[QBrush]:
    color, pattern = themes.color(_TOKENS[owner]), _PATTERNS[owner]
    if pattern in {Qt.BrushStyle.SolidPattern, Qt.BrushStyle.NoBrush}:
        yield QBrush(color)
        return
    ground = QColor(color)
    ground.setAlpha(_GROUND)
    yield QBrush(ground)
    yield QBrush(color, pattern)


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
        OwnerBrushes(self._themes).fill(painter, box, self._owner)
        painter.setPen(QPen(self._themes.color("muted"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))
        painter.end()
