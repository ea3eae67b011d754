"""Line charts: several series over one axis, with the spread of their repeats."""

from collections.abc import Sequence
from itertools import chain

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from ui.charts.chart import Chart, Spot
from ui.charts.figures import Axis, Kind, LineFigure, Series, Table
from ui.charts.frame import Frame, Side
from ui.charts.pens import Legend, Stroke, paint_series_marker, pen_of, stroke_of
from ui.charts.quantities import spread_words, words_of
from ui.charts.spans import span_of
from ui.charts.tables import table_of_lines
from ui.theme import ThemeSource

_NO_FIGURE = LineFigure("", Axis("", Kind.NUMBER), Axis("", Kind.NUMBER), ())
_MOST_MARKERS = 24
_CAP = 3.0


class LineChart(Chart):
    """Shows one figure after another; ``set_figure`` replaces it."""

    _figure: LineFigure

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self._figure = _NO_FIGURE

    def set_figure(self, figure: LineFigure) -> None:
        """Show this figure."""
        self.show_figure(figure)

    @override
    def table(self) -> Table:
        return table_of_lines(self._figure)

    # ------------------------------------------------------------------ where things are

    def _shown(self) -> list[tuple[int, Series]]:
        return [(n, series) for n, series in enumerate(self._figure.series) if series.points]

    def _sides(self) -> tuple[Side, Side]:
        figure = self._figure
        points = [point for _n, series in self._shown() for point in series.points]
        ends = [
            (p.y if p.low is None else p.low, p.y if p.high is None else p.high) for p in points
        ]
        xs = span_of([p.x for p in points], is_log=figure.x.is_log, from_zero=False)
        if not figure.x.is_log and points and min(p.x for p in points) <= 0.25 * xs.high:
            xs = span_of([p.x for p in points], is_log=False)
        ys = span_of(list(chain.from_iterable(ends)), is_log=figure.y.is_log)
        return Side.of(figure.x, xs), Side.of(figure.y, ys)

    def _names(self) -> list[str]:
        return [series.name for series in self._figure.series]

    def _legend(self) -> Legend:
        return Legend(self._themes, self.small()[1], is_bars=False)

    def _title_height(self) -> float:
        return self.small()[1].height() + self._themes.px(4)

    def _frame(self, area: QRectF) -> Frame:
        top = self._title_height() + self._legend().height(self._names(), area.width())
        x, y = self._sides()
        return Frame(area.adjusted(0, top, 0, 0), x, y, self._themes, self.small()[0])

    @override
    def spots(self, area: QRectF) -> Sequence[Spot]:
        if not self._shown():
            return ()
        frame, figure = self._frame(area), self._figure
        spots = []
        for _number, series in self._shown():
            for point in series.points:
                lines = [words_of(figure.y.kind, point.y), words_of(figure.x.kind, point.x)]
                if series.is_calculated:
                    lines[0] = f"~{lines[0]}"
                if figure.x.kind is not Kind.TOKENS:
                    lines[1] = f"{figure.x.label}: {lines[1]}"
                if len(figure.series) > 1:
                    lines.insert(1, series.name)
                if spread := spread_words(figure.y.kind, point.low, point.high):
                    lines.append(spread)
                spots.append(Spot(frame.place(point.x, point.y), tuple(lines)))
        return spots

    # ------------------------------------------------------------------ painting

    @override
    def paint_figure(self, painter: QPainter, area: QRectF) -> None:
        y = self._sides()[1]
        top = self.paint_title(painter, area, y.scale.unit)
        if not self._shown():
            self.paint_nothing(painter, area)
            return
        legend = self._legend()
        if len(self._figure.series) > 1:
            painter.setFont(self.small()[0])
            hollow = {n for n, series in self._shown() if series.is_calculated}
            below = area.adjusted(0, top - area.top(), 0, 0)
            legend.paint(painter, self._names(), below, hollow)
        frame = self._frame(area)
        frame.paint(painter)
        for number, series in self._shown():
            self._paint_spread(painter, frame, series, stroke_of(number))
        for number, series in self._shown():
            self._paint_series(painter, frame, series, stroke_of(number))

    def _paint_series(
        self, painter: QPainter, frame: Frame, series: Series, stroke: Stroke
    ) -> None:
        places = [frame.place(point.x, point.y) for point in series.points]
        painter.setPen(pen_of(stroke, self._themes))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF(places))
        every = max(1, -(-len(places) // _MOST_MARKERS))
        for place in places[::every]:
            is_hollow = series.is_calculated
            paint_series_marker(painter, stroke, place, self._themes, is_hollow=is_hollow)

    def _paint_spread(
        self, painter: QPainter, frame: Frame, series: Series, stroke: Stroke
    ) -> None:
        spread = [p for p in series.points if p.low is not None and p.high is not None]
        if not spread:
            return
        lows = [frame.place(p.x, p.low or 0.0) for p in spread]
        highs = [frame.place(p.x, p.high or 0.0) for p in spread]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._themes.color(stroke.token, alpha=40))
        painter.drawPolygon(QPolygonF([*lows, *reversed(highs)]))
        if len(spread) > _MOST_MARKERS:
            return
        painter.setPen(QPen(self._themes.color(stroke.token), 1))
        cap = self._themes.px(_CAP)
        for low, high in zip(lows, highs, strict=True):
            painter.drawLine(low, high)
            for end in (low, high):
                painter.drawLine(QPointF(end.x() - cap, end.y()), QPointF(end.x() + cap, end.y()))
