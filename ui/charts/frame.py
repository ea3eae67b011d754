"""A frame with two axes: where a value lies in pixels, grid lines, ticks and their words."""

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen

from ui.charts.figures import Axis, Kind
from ui.charts.quantities import Scale, axis_words, scale_for
from ui.charts.spans import Span, doubling_ticks, ticks_of
from ui.theme import ThemeSource

_TICK_X_PX = 64
_TICK_Y_PX = 34
_GAP = 6


@dataclass(frozen=True, slots=True)
class Side:
    """One axis: what it counts, its range, and the unit its ticks are in."""

    axis: Axis
    span: Span
    scale: Scale

    @classmethod
    def of(cls, axis: Axis, span: Span) -> "Side":
        """With the unit that suits the range."""
        return cls(axis, span, scale_for(axis.kind, span.high))

    def ticks(self, length: float, each: float) -> list[float]:
        """Round values, about one every ``each`` pixels."""
        most = max(2, int(length / each))
        if self.span.is_log and self.axis.kind in {Kind.TOKENS, Kind.COUNT}:
            return doubling_ticks(self.span, most)
        found = ticks_of(self.span, most, self.scale.divisor)
        if self.axis.kind in {Kind.TOKENS, Kind.COUNT}:
            return [tick for tick in found if tick == round(tick)]
        return found


class Frame:
    """Axes inside ``area``, with room left for their words."""

    def __init__(self, area: QRectF, x: Side, y: Side, themes: ThemeSource, font: QFont) -> None:
        self._x, self._y = x, y
        self._themes = themes
        self._font = font
        self._metrics = QFontMetricsF(font)
        line = self._metrics.height()
        self._y_ticks = y.ticks(area.height() - 2 * line, themes.px(_TICK_Y_PX))
        advance = self._metrics.horizontalAdvance
        words = [y.scale.number(tick) for tick in self._y_ticks]
        left = max((advance(word) for word in words), default=0.0) + themes.px(_GAP)
        top = line / 2
        self.plot = area.adjusted(left, top, -themes.px(_GAP), -(2 * line + themes.px(_GAP)))
        self._x_ticks = x.ticks(self.plot.width(), themes.px(_TICK_X_PX))

    @property
    def unit(self) -> str:
        """What the numbers at the left are counted in, as far as they go."""
        return self._y.scale.unit

    def place(self, x: float, y: float) -> QPointF:
        """Where two values meet."""
        plot = self.plot
        return QPointF(
            plot.left() + self._x.span.part(x) * plot.width(),
            plot.bottom() - self._y.span.part(y) * plot.height(),
        )

    def paint(self, painter: QPainter) -> None:
        """Grid, ticks, and the words below; nothing of the figure itself."""
        themes, metrics, plot = self._themes, self._metrics, self.plot
        painter.setFont(self._font)
        grid, muted = QPen(themes.color("line"), 1), themes.color("muted")
        for tick in self._y_ticks:
            y = round(self.place(self._x.span.low, tick).y()) + 0.5
            painter.setPen(grid)
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            word = self._y.scale.number(tick)
            left = plot.left() - themes.px(_GAP) - metrics.horizontalAdvance(word)
            painter.setPen(muted)
            painter.drawText(QPointF(left, y + metrics.ascent() / 2 - 1), word)
        painter.setPen(QPen(muted, 1))
        bottom = round(plot.bottom()) + 0.5
        painter.drawLine(QPointF(plot.left(), bottom), QPointF(plot.right(), bottom))
        self._paint_x(painter, bottom)

    def _paint_x(self, painter: QPainter, bottom: float) -> None:
        themes, metrics, plot = self._themes, self._metrics, self.plot
        base = bottom + themes.px(4) + metrics.ascent()
        taken = -1e9
        for tick in self._x_ticks:
            x = self.place(tick, self._y.span.low).x()
            word = self._x.scale.number(tick)
            width = metrics.horizontalAdvance(word)
            left = min(x - width / 2, plot.right() + themes.px(_GAP) - width)
            painter.drawLine(QPointF(x, bottom), QPointF(x, bottom + themes.px(3)))
            if left > taken + themes.px(4):
                painter.drawText(QPointF(left, base), word)
                taken = left + width
        name = axis_words(self._x.axis, self._x.scale)
        left = plot.right() - metrics.horizontalAdvance(name)
        painter.drawText(QPointF(max(0.0, left), base + metrics.height()), name)
