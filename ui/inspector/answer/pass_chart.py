"""One pass of the model: a bar by part, and below it a column for each layer."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from ui.charts.chart import Chart, Spot
from ui.charts.figures import Table
from ui.charts.pens import Legend, paint_bar, stroke_of
from ui.i18n import tr
from ui.inspector.answer.lanes import exact_ms
from ui.inspector.answer.passes import Pass, group_names
from ui.theme import ThemeSource

_BAR = 14
_COLUMNS = 64
_GAP = 6
_NOTHING = Pass("", 0, (), ())


class PassChart(Chart):
    """Parts are told apart by hatching, too; each box says its name, time and share."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self._pass = _NOTHING

    def set_pass(self, shown: Pass) -> None:
        """Show this one."""
        if shown != self._pass:
            self._pass = shown
            self.figure_changed()

    @property
    @override
    def title(self) -> str:
        return self._pass.heading or self._pass.title

    @property
    @override
    def sentence(self) -> str:
        return self._pass.sentence()

    @override
    def table(self) -> Table:
        rows = tuple(
            (name, exact_ms(ns))
            for name, ns in zip(group_names(), self._pass.groups, strict=False)
        )
        return Table((tr("Part"), tr("Time (ms)")), rows, rows)

    # ------------------------------------------------------------------ where things are

    def _line(self) -> float:
        return self.small()[1].height()

    def _legend(self) -> Legend:
        return Legend(self._themes, self.small()[1], is_bars=True)

    def _height_for(self, width: float) -> float:
        themes = self._themes
        legend = self._legend().height(group_names(), width)
        bars = themes.px(_BAR) + 2 * themes.px(_GAP)
        columns = themes.px(_COLUMNS) + self._line() if self._pass.layers else 0.0
        return self._line() + themes.px(4) + legend + bars + columns + themes.px(_GAP)

    @override
    def sizeHint(self) -> QSize:
        width = max(self.width(), self._themes.px(200))
        return QSize(self._themes.px(200), round(self._height_for(width - 6)) + 6)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(120), self.sizeHint().height())

    def _bar_top(self, area: QRectF) -> float:
        legend = self._legend().height(group_names(), area.width())
        return area.top() + self._line() + self._themes.px(4) + legend + self._themes.px(_GAP)

    def _boxes(self, area: QRectF) -> list[tuple[int, QRectF]]:
        """The groups of the bar that took any time."""
        whole, left = max(1, self._pass.total_ns), area.left()
        boxes = []
        for group, ns in enumerate(self._pass.groups):
            width = area.width() * ns / whole
            if ns:
                top = self._bar_top(area)
                boxes.append(
                    (group, QRectF(left, top, max(1.0, width - 1), self._themes.px(_BAR)))
                )
            left += width
        return boxes

    def _columns(self, area: QRectF) -> list[list[tuple[int, QRectF]]]:
        """For each layer its boxes, from the bottom up."""
        layers = self._pass.layers
        highest = max((sum(layer) for layer in layers), default=0) or 1
        height = float(self._themes.px(_COLUMNS))
        bottom = self._bar_top(area) + self._themes.px(_BAR) + self._themes.px(_GAP) + height
        step = area.width() / max(1, len(layers))
        columns = []
        for number, layer in enumerate(layers):
            place, boxes = bottom, []
            for group, ns in enumerate(layer):
                tall = height * ns / highest
                if ns:
                    left = area.left() + number * step
                    box = QRectF(left, place - tall, max(1.0, step - 2), max(0.5, tall - 0.5))
                    boxes.append((group, box))
                place -= tall
            columns.append(boxes)
        return columns

    @override
    def spots(self, area: QRectF) -> Sequence[Spot]:
        whole, names = max(1, self._pass.total_ns), group_names()
        spots = []
        for group, box in self._boxes(area):
            ns = self._pass.groups[group]
            words = f"{exact_ms(ns)} ms ({100 * ns / whole:.1f}%)"
            spots.append(Spot(box.center(), (words, names[group])))
        for number, boxes in enumerate(self._columns(area)):
            if boxes:
                ns = sum(self._pass.layers[number])
                words = f"{exact_ms(ns)} ms ({100 * ns / whole:.1f}%)"
                at = QPointF(boxes[-1][1].center().x(), boxes[-1][1].top())
                spots.append(Spot(at, (words, tr("layer {n}", n=number))))
        return spots

    @override
    def paint_figure(self, painter: QPainter, area: QRectF) -> None:
        top = self.paint_title(painter, area, "")
        painter.setFont(self.small()[0])
        self._legend().paint(painter, group_names(), area.adjusted(0, top - area.top(), 0, 0))
        for group, box in self._boxes(area):
            paint_bar(painter, stroke_of(group), box, self._themes)
        columns = self._columns(area)
        for boxes in columns:
            for group, box in boxes:
                paint_bar(painter, stroke_of(group), box, self._themes)
        if columns:
            self._paint_layer_axis(painter, area, len(columns))

    def _paint_layer_axis(self, painter: QPainter, area: QRectF, num_layers: int) -> None:
        themes, metrics = self._themes, self.small()[1]
        bottom = self._bar_top(area) + themes.px(_BAR) + themes.px(_GAP) + themes.px(_COLUMNS)
        painter.setPen(QPen(themes.color("line"), 1))
        painter.drawLine(QPointF(area.left(), bottom + 1), QPointF(area.right(), bottom + 1))
        painter.setPen(themes.color("muted"))
        base = bottom + themes.px(2) + metrics.ascent()
        painter.drawText(QPointF(area.left(), base), tr("layer {n}", n=0))
        last = str(num_layers - 1)
        painter.drawText(QPointF(area.right() - metrics.horizontalAdvance(last), base), last)
