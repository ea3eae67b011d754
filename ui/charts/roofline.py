"""A roofline: what this machine can do at each intensity, and what was reached below it.

Williams, Waterman, Patterson, "Roofline: an insightful visual performance model" (2009): a program
that does I operations a byte read reaches at most min(peak, I x bandwidth).
"""

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from ui.charts.chart import Chart, Spot
from ui.charts.figures import Axis, Kind, RooflineFigure, RoofPoint, Table
from ui.charts.frame import Frame, Side
from ui.charts.pens import MARKER_PX, STROKES, paint_marker
from ui.charts.quantities import words_of
from ui.charts.spans import Span
from ui.charts.tables import table_of_roofline
from ui.i18n import tr
from ui.theme import ThemeSource

_MARGIN = 4.0  # the axes reach so many times beyond what they hold
_MARKER = MARKER_PX + 3


class RooflineChart(Chart):
    """Both axes are logarithmic. ``set_figures`` replaces all; a ceiling of 0 is unknown."""

    _figure: RooflineFigure

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self._figure = RooflineFigure(tr("Roofline"), 0.0, 0.0, ())
        self.figure_changed()

    def set_figures(
        self,
        memory_bytes_per_s: float,
        flops_per_s: float,
        points: Sequence[RoofPoint],
        sentence: str = "",
    ) -> None:
        """Show these ceilings and points; without a ``sentence`` the chart makes one."""
        words = sentence or roof_sentence(memory_bytes_per_s, flops_per_s, points)
        known = tuple(p for p in points if p.intensity > 0 and p.flops_per_s > 0)
        figure = RooflineFigure(tr("Roofline"), memory_bytes_per_s, flops_per_s, known, words)
        self.show_figure(figure)

    @override
    def table(self) -> Table:
        return table_of_roofline(self._figure)

    # ------------------------------------------------------------------ where things are

    @property
    def _is_known(self) -> bool:
        return self._figure.memory_bytes_per_s > 0 and self._figure.flops_per_s > 0

    @property
    def _ridge(self) -> float:
        """The intensity from which on arithmetic is the limit."""
        return self._figure.flops_per_s / self._figure.memory_bytes_per_s

    def _frame(self, area: QRectF) -> Frame:
        figure, ridge = self._figure, self._ridge
        across = [ridge, *(point.intensity for point in figure.points)]
        low, high = min(across) / _MARGIN, max(across) * _MARGIN
        slowest = min(figure.memory_bytes_per_s * low, *(p.flops_per_s / 2 for p in figure.points),
                      figure.flops_per_s)  # fmt: skip
        x = Axis(tr("Intensity"), Kind.INTENSITY, is_log=True)
        y = Axis(tr("Arithmetic"), Kind.FLOPS, is_log=True)
        fastest = max(figure.flops_per_s, *(p.flops_per_s for p in figure.points), 0.0)
        sides = (
            Side.of(x, Span(low, high, is_log=True)),
            Side.of(y, Span(slowest, fastest * 2, is_log=True)),
        )
        top = self.small()[1].height() + self._themes.px(4)
        return Frame(area.adjusted(0, top, 0, 0), *sides, self._themes, self.small()[0])

    def _roof_at(self, intensity: float) -> float:
        return min(self._figure.flops_per_s, intensity * self._figure.memory_bytes_per_s)

    @override
    def spots(self, area: QRectF) -> Sequence[Spot]:
        if not self._is_known:
            return ()
        frame = self._frame(area)
        return [
            Spot(
                frame.place(point.intensity, point.flops_per_s),
                (
                    point.name,
                    words_of(Kind.FLOPS, point.flops_per_s),
                    words_of(Kind.INTENSITY, point.intensity),
                    tr(
                        "{share} of what is possible there",
                        share=words_of(
                            Kind.SHARE, point.flops_per_s / self._roof_at(point.intensity)
                        ),
                    ),
                ),
            )
            for point in self._figure.points
        ]

    # ------------------------------------------------------------------ painting

    @override
    def paint_figure(self, painter: QPainter, area: QRectF) -> None:
        if not self._is_known:
            self.paint_title(painter, area, "")
            self.paint_nothing(painter, area)
            return
        frame = self._frame(area)
        self.paint_title(painter, area, Side.of(
            Axis("", Kind.FLOPS), Span(0.0, self._figure.flops_per_s * 2)).scale.unit)  # fmt: skip
        frame.paint(painter)
        painter.save()
        painter.setClipRect(frame.plot.adjusted(-6, -6, 6, 6))
        self._paint_roof(painter, frame)
        painter.restore()
        for number, point in enumerate(self._figure.points):
            self._paint_point(painter, frame, number, point)

    def _paint_roof(self, painter: QPainter, frame: Frame) -> None:
        figure, themes = self._figure, self._themes
        plot, ridge = frame.plot, frame.place(self._ridge, figure.flops_per_s)
        # the slope of a straight line through two of its points
        one = frame.place(self._ridge / 10, figure.flops_per_s / 10)
        slope = (one.y() - ridge.y()) / (ridge.x() - one.x())
        start = QPointF(plot.left(), ridge.y() + (ridge.x() - plot.left()) * slope)
        end = QPointF(plot.right(), ridge.y())
        below = QPolygonF([start, ridge, end, plot.bottomRight(), plot.bottomLeft()])
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(themes.color("accent", alpha=18))
        painter.drawPolygon(below)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(themes.color("accent"), themes.px(2)))
        for left, right in pairwise((start, ridge, end)):
            painter.drawLine(left, right)
        self._name_ceilings(painter, plot, ridge, slope)

    def _name_ceilings(
        self, painter: QPainter, plot: QRectF, ridge: QPointF, slope: float
    ) -> None:
        themes, (font, metrics) = self._themes, self.small()
        painter.setFont(font)
        painter.setPen(themes.color("muted"))
        peak = words_of(Kind.FLOPS, self._figure.flops_per_s)
        left = plot.right() - metrics.horizontalAdvance(peak)
        painter.drawText(QPointF(left, ridge.y() - themes.px(5)), peak)
        speed = words_of(Kind.BANDWIDTH, self._figure.memory_bytes_per_s)
        x = (plot.left() + ridge.x()) / 2
        y = ridge.y() + (ridge.x() - x) * slope - themes.px(8)
        left = x - metrics.horizontalAdvance(speed) - themes.px(2)
        painter.drawText(QPointF(max(plot.left() + 4, left), y), speed)

    def _paint_point(self, painter: QPainter, frame: Frame, number: int, point: RoofPoint) -> None:
        themes, (font, metrics) = self._themes, self.small()
        at = frame.place(point.intensity, point.flops_per_s)
        marker = STROKES[number % len(STROKES)].marker
        color, ground = themes.color(point.token), themes.color("background")
        paint_marker(painter, marker, at, color, ground, themes.px(_MARKER))
        painter.setFont(font)
        painter.setPen(themes.color("text"))
        gap = themes.px(_MARKER)
        width = metrics.horizontalAdvance(point.name)
        x = at.x() + gap
        if x + width > frame.plot.right():
            x = at.x() - gap - width
        painter.drawText(QPointF(x, at.y() + metrics.ascent()), point.name)


def roof_sentence(
    memory_bytes_per_s: float, flops_per_s: float, points: Sequence[RoofPoint]
) -> str:
    """The ceilings, and how near each point comes to its own."""
    if memory_bytes_per_s <= 0 or flops_per_s <= 0:
        return tr("Nothing is measured yet.")
    words = [
        tr(
            "This machine reads {memory} and computes {flops}.",
            memory=words_of(Kind.BANDWIDTH, memory_bytes_per_s),
            flops=words_of(Kind.FLOPS, flops_per_s),
        )
    ]
    words += [
        tr(
            "{name}: {share} of what is possible at {intensity}.",
            name=point.name,
            share=words_of(
                Kind.SHARE,
                point.flops_per_s / min(flops_per_s, point.intensity * memory_bytes_per_s),
            ),
            intensity=words_of(Kind.INTENSITY, point.intensity),
        )
        for point in points
        if point.intensity > 0
    ]
    return " ".join(words)
