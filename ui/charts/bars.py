"""Bar charts: one group of lying bars a category, each with its value at its end."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from ui.charts.chart import Chart, Spot
from ui.charts.figures import Axis, Bar, BarFigure, Kind, Table
from ui.charts.pens import Legend, paint_bar, stroke_of
from ui.charts.quantities import spread_words, words_of
from ui.charts.tables import table_of_bars
from ui.theme import ThemeSource

_NO_FIGURE = BarFigure("", Axis("", Kind.NUMBER), (), ())
_BAR = 14
_BETWEEN_BARS = 4
_BETWEEN_GROUPS = 14
_MOST_LABEL = 0.4  # of the width
_PAD = 8


class BarChart(Chart):
    """Shows one figure after another; ``set_figure`` replaces it. As high as its bars."""

    _figure: BarFigure

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self._figure = _NO_FIGURE

    def set_figure(self, figure: BarFigure) -> None:
        """Show this figure."""
        self.show_figure(figure)

    @override
    def table(self) -> Table:
        return table_of_bars(self._figure)

    # ------------------------------------------------------------------ where things are

    def _names(self) -> list[str]:
        return [series.name for series in self._figure.series]

    def _bar_height(self) -> float:
        return max(self._themes.px(_BAR), self.small()[1].height())

    def _group_height(self) -> float:
        count = max(1, len(self._figure.series))
        between = self._themes.px(_BETWEEN_BARS)
        return count * self._bar_height() + (count - 1) * between

    def _head_height(self, width: float) -> float:
        title = self.small()[1].height() + self._themes.px(8)
        return title + Legend(self._themes, self.small()[1], is_bars=True).height(
            self._names(), width
        )

    @override
    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        count = len(self._figure.categories)
        if not count:
            return QSize(hint.width(), self._themes.px(120))
        groups = count * (self._group_height() + self._themes.px(_BETWEEN_GROUPS))
        return QSize(hint.width(), int(self._head_height(hint.width()) + groups) + 12)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), self.sizeHint().height())

    def _highest(self) -> float:
        bars = [bar for series in self._figure.series for bar in series.bars if bar is not None]
        return max((bar.value if bar.high is None else bar.high for bar in bars), default=0.0)

    def _columns(self, area: QRectF) -> tuple[float, float]:
        """Where bars begin, and how long the longest is."""
        metrics = self.small()[1]
        names = [metrics.horizontalAdvance(name) for name in self._figure.categories]
        label = min(max(names, default=0.0), _MOST_LABEL * area.width())
        left = area.left() + label + self._themes.px(_PAD)
        words = [
            metrics.horizontalAdvance(self._words(bar, is_calculated=series.is_calculated))
            for series in self._figure.series
            for bar in series.bars
            if bar is not None
        ]
        room = max(words, default=0.0) + 2 * self._themes.px(_PAD)
        return left, max(8.0, area.right() - left - room)

    def _boxes(self, area: QRectF) -> list[tuple[int, int, Bar, QRectF]]:
        """Series, category, bar, and its box."""
        left, length = self._columns(area)
        highest, height = self._highest() or 1.0, self._bar_height()
        found = []
        top = area.top() + self._head_height(area.width())
        for category in range(len(self._figure.categories)):
            for number, series in enumerate(self._figure.series):
                bar = series.bars[category]
                if bar is not None:
                    width = max(1.0, bar.value / highest * length)
                    y = top + number * (height + self._themes.px(_BETWEEN_BARS))
                    found.append((number, category, bar, QRectF(left, y, width, height)))
            top += self._group_height() + self._themes.px(_BETWEEN_GROUPS)
        return found

    def _words(self, bar: Bar, *, is_calculated: bool) -> str:
        words = words_of(self._figure.value.kind, bar.value)
        return f"~{words}" if is_calculated else words

    @override
    def spots(self, area: QRectF) -> Sequence[Spot]:
        figure, spots = self._figure, []
        for number, category, bar, box in self._boxes(area):
            series = figure.series[number]
            lines = [self._words(bar, is_calculated=series.is_calculated)]
            lines.append(figure.categories[category])
            if len(figure.series) > 1:
                lines.append(series.name)
            if spread := spread_words(figure.value.kind, bar.low, bar.high):
                lines.append(spread)
            spots.append(Spot(QPointF(box.right(), box.center().y()), tuple(lines)))
        return spots

    # ------------------------------------------------------------------ painting

    @override
    def paint_figure(self, painter: QPainter, area: QRectF) -> None:
        themes, figure = self._themes, self._figure
        font, metrics = self.small()
        top = self.paint_title(painter, area, "")
        if not any(bar is not None for series in figure.series for bar in series.bars):
            self.paint_nothing(painter, area)
            return
        painter.setFont(font)
        if len(figure.series) > 1:
            legend = Legend(themes, metrics, is_bars=True)
            legend.paint(painter, self._names(), area.adjusted(0, top - area.top(), 0, 0))
        left, length = self._columns(area)
        group_top = area.top() + self._head_height(area.width())
        painter.setPen(themes.color("text"))
        for name in figure.categories:
            middle = group_top + self._group_height() / 2
            room = left - area.left() - themes.px(_PAD)
            shown = metrics.elidedText(name, Qt.TextElideMode.ElideRight, room + 1)
            base = middle + metrics.ascent() / 2 - 1
            painter.drawText(QPointF(area.left(), base), shown)
            group_top += self._group_height() + themes.px(_BETWEEN_GROUPS)
        for number, _category, bar, box in self._boxes(area):
            paint_bar(painter, stroke_of(number), box, themes)
            end = self._paint_spread(painter, bar, box, length)
            words = self._words(bar, is_calculated=figure.series[number].is_calculated)
            painter.setPen(themes.color("text"))
            base = box.center().y() + metrics.ascent() / 2 - 1
            painter.drawText(QPointF(end + themes.px(_PAD), base), words)

    def _paint_spread(self, painter: QPainter, bar: Bar, box: QRectF, length: float) -> float:
        """The whisker of the repeats; returns where the bar with it ends."""
        if bar.low is None or bar.high is None or bar.low == bar.high:
            return box.right()
        highest, y, cap = self._highest() or 1.0, box.center().y(), self._themes.px(3)
        low = box.left() + bar.low / highest * length
        high = box.left() + bar.high / highest * length
        painter.setPen(QPen(self._themes.color("text"), 1))
        painter.drawLine(QPointF(low, y), QPointF(high, y))
        for x in (low, high):
            painter.drawLine(QPointF(x, y - cap), QPointF(x, y + cap))
        return max(box.right(), high)
