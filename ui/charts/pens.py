"""How series are told apart: by colour, by dash and by marker, so that no colour is needed.

Paints single marks and the legend; knows nothing of axes.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from ui.theme import ThemeSource

LINE_PX = 2.0
MARKER_PX = 7.0
SWATCH_PX = 28.0
_GAP_PX = 6.0
_ITEM_GAP_PX = 18.0


class Marker(Enum):
    """Shapes of a point."""

    CIRCLE = "circle"
    SQUARE = "square"
    DIAMOND = "diamond"
    TRIANGLE = "triangle"
    CROSS = "cross"


@dataclass(frozen=True, slots=True)
class Stroke:
    """One way of drawing a series. ``dashes`` in line widths; empty is solid."""

    token: str
    marker: Marker
    dashes: tuple[float, ...]
    hatch: Qt.BrushStyle


STROKES = (
    Stroke("stage_prefill", Marker.CIRCLE, (), Qt.BrushStyle.SolidPattern),
    Stroke("stage_decode", Marker.SQUARE, (4.0, 2.5), Qt.BrushStyle.BDiagPattern),
    Stroke("stage_paint", Marker.DIAMOND, (1.2, 2.0), Qt.BrushStyle.Dense4Pattern),
    Stroke("ready", Marker.TRIANGLE, (6.0, 2.0, 1.2, 2.0), Qt.BrushStyle.HorPattern),
    Stroke("stage_tokenize", Marker.CROSS, (2.5, 2.5), Qt.BrushStyle.DiagCrossPattern),
    Stroke("stage_queue", Marker.CIRCLE, (1.2, 1.2), Qt.BrushStyle.VerPattern),
)


def stroke_of(number: int) -> Stroke:
    """The drawing of series ``number``; they repeat after six."""
    return STROKES[number % len(STROKES)]


def pen_of(stroke: Stroke, themes: ThemeSource) -> QPen:
    """The line of a series."""
    pen = QPen(themes.color(stroke.token), themes.px(LINE_PX))
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    if stroke.dashes:
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        pen.setDashPattern(list(stroke.dashes))
    return pen


def paint_series_marker(
    painter: QPainter, stroke: Stroke, at: QPointF, themes: ThemeSource, *, is_hollow: bool
) -> None:
    """A point of a series: solid where it was measured, hollow where it was calculated."""
    color, ground = themes.color(stroke.token), themes.color("background")
    has_inside = stroke.marker is not Marker.CROSS
    inside, edge = (ground, color) if is_hollow and has_inside else (color, ground)
    paint_marker(painter, stroke.marker, at, inside, edge, themes.px(MARKER_PX))


def paint_marker(
    painter: QPainter, marker: Marker, at: QPointF, color: QColor, ground: QColor, size: float
) -> None:
    """A shape of ``size`` px with its middle at a point; ``ground`` sets it off from lines."""
    half = size / 2
    painter.save()
    painter.setPen(QPen(ground, 1))
    painter.setBrush(color)
    box = QRectF(at.x() - half, at.y() - half, size, size)
    if marker is Marker.CIRCLE:
        painter.drawEllipse(box)
    elif marker is Marker.CROSS:
        painter.setPen(QPen(color, max(1.5, size / 4)))
        painter.drawLine(box.topLeft(), box.bottomRight())
        painter.drawLine(box.topRight(), box.bottomLeft())
    else:
        painter.drawPolygon(QPolygonF(_corners(marker, box)))
    painter.restore()


def _corners(marker: Marker, box: QRectF) -> list[QPointF]:
    middle = box.center()
    if marker is Marker.SQUARE:
        return [box.topLeft(), box.topRight(), box.bottomRight(), box.bottomLeft()]
    if marker is Marker.TRIANGLE:
        return [QPointF(middle.x(), box.top()), box.bottomRight(), box.bottomLeft()]
    sides = box.adjusted(-0.5, -0.5, 0.5, 0.5)
    return [
        QPointF(middle.x(), sides.top()),
        QPointF(sides.right(), middle.y()),
        QPointF(middle.x(), sides.bottom()),
        QPointF(sides.left(), middle.y()),
    ]


class Legend:
    """Names beside samples, in as many lines as they need."""

    def __init__(self, themes: ThemeSource, metrics: QFontMetricsF, *, is_bars: bool) -> None:
        self._themes = themes
        self._metrics = metrics
        self._is_bars = is_bars

    @property
    def _sample_width(self) -> float:
        themes = self._themes
        return float(themes.px(12) if self._is_bars else themes.px(SWATCH_PX))

    @property
    def line_height(self) -> float:
        """Of one line."""
        return self._metrics.height() + self._themes.px(4)

    def places(self, names: Sequence[str], width: float) -> list[tuple[float, int]]:
        """The left edge and the line of each name."""
        themes, found = self._themes, []
        left, line = 0.0, 0
        for name in names:
            needed = (
                self._sample_width + themes.px(_GAP_PX) + self._metrics.horizontalAdvance(name)
            )
            if left and left + needed > width:
                left, line = 0.0, line + 1
            found.append((left, line))
            left += needed + themes.px(_ITEM_GAP_PX)
        return found

    def height(self, names: Sequence[str], width: float) -> float:
        """Of all lines; 0 where one name needs no legend."""
        if len(names) < 2:
            return 0.0
        return (1 + max(line for _left, line in self.places(names, width))) * self.line_height

    def paint(
        self,
        painter: QPainter,
        names: Sequence[str],
        area: QRectF,
        hollow: Collection[int] = (),
    ) -> None:
        """Into the top of ``area``; the markers of the ``hollow`` series are outlines."""
        themes, metrics = self._themes, self._metrics
        for number, (left, line) in enumerate(self.places(names, area.width())):
            stroke = stroke_of(number)
            top = area.top() + line * self.line_height
            middle = top + metrics.height() / 2
            x = area.left() + left
            if self._is_bars:
                side = themes.px(10)
                box = QRectF(x, middle - side / 2, side, side)
                paint_bar(painter, stroke, box, themes)
            else:
                self._paint_sample(painter, QPointF(x, middle), stroke, is_hollow=number in hollow)
            painter.setPen(themes.color("muted"))
            room = area.right() - x - self._sample_width - themes.px(_GAP_PX)
            text = metrics.elidedText(names[number], Qt.TextElideMode.ElideRight, room)
            text_x = x + self._sample_width + themes.px(_GAP_PX)
            painter.drawText(QPointF(text_x, top + metrics.ascent()), text)

    def _paint_sample(
        self, painter: QPainter, start: QPointF, stroke: Stroke, *, is_hollow: bool
    ) -> None:
        themes, width = self._themes, self._sample_width
        painter.setPen(pen_of(stroke, themes))
        painter.drawLine(start, QPointF(start.x() + width, start.y()))
        middle = QPointF(start.x() + width / 2, start.y())
        paint_series_marker(painter, stroke, middle, themes, is_hollow=is_hollow)


def paint_bar(painter: QPainter, stroke: Stroke, box: QRectF, themes: ThemeSource) -> None:
    """A filled or hatched box with its own outline."""
    color = themes.color(stroke.token)
    painter.save()
    painter.setPen(QPen(color, 1))
    painter.setBrush(color)
    if stroke.hatch is not Qt.BrushStyle.SolidPattern:
        pale = themes.color(stroke.token, alpha=60)
        painter.fillRect(box, pale)
        brush = painter.brush()
        brush.setStyle(stroke.hatch)
        painter.setBrush(brush)
    painter.drawRect(box)
    painter.restore()
