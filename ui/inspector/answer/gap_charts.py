"""Two drawings of the times between tokens: one after another, and how they are spread."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from ui.charts.chart import Chart, Spot
from ui.charts.figures import Axis, Kind, Table
from ui.charts.frame import Frame, Side
from ui.charts.spans import Span
from ui.i18n import tr, tr_n
from ui.inspector.answer.gaps import (
    MOST_STALLS,
    NUM_BINS,
    Bucket,
    Gaps,
    bin_words,
    stall_words,
    table_of,
)
from ui.theme import ThemeSource
from ui.widgets.units import milliseconds

_HEIGHT = 150
_NS_PER_MS = 1_000_000
_NOTHING = Table((), (), ())
_MARK = 4.0
_HEADROOM = 1.8
_PERCENTILES = ("p50", "p95", "p99")


class GapChart(Chart):
    """What both drawings share: they show the gaps of one answer."""

    def __init__(self, title: str, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self._title = title
        self._gaps: Gaps | None = None
        self.setAccessibleName(title)

    def set_gaps(self, gaps: Gaps | None) -> None:
        """Show these."""
        if gaps != self._gaps:
            self._gaps = gaps
            self.figure_changed()

    @property
    @override
    def title(self) -> str:
        return self._title

    @property
    @override
    def sentence(self) -> str:
        return "" if self._gaps is None else self._gaps.sentence()

    @override
    def table(self) -> Table:
        return _NOTHING if self._gaps is None else table_of(self._gaps)

    @override
    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._themes.px(_HEIGHT))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(120), self._themes.px(_HEIGHT))

    def _below_title(self, area: QRectF) -> QRectF:
        return area.adjusted(0, self.small()[1].height() + self._themes.px(4), 0, 0)

    def _room(self, area: QRectF, x: Axis, span: Span, y: Axis, top: float) -> Frame:
        sides = Side.of(x, span), Side.of(y, Span(0.0, top))
        return Frame(self._below_title(area), *sides, self._themes, self.small()[0])


class GapTrace(GapChart):
    """Gaps in the order they came; stalls are marked, those beyond the scale at its top."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(tr("Gaps one after another"), themes, parent)

    def _frame(self, gaps: Gaps, area: QRectF) -> Frame:
        x, y = Axis(tr("token"), Kind.COUNT), Axis(tr("gap"), Kind.DURATION)
        span = Span(1.0, max(2.0, gaps.count + 1.0))
        return self._room(area, x, span, y, gaps.ceiling_ns / _NS_PER_MS)

    def _place(self, frame: Frame, gaps: Gaps, token: float, gap_ns: float) -> QPointF:
        return frame.place(token, min(gap_ns, gaps.ceiling_ns) / _NS_PER_MS)

    @override
    def spots(self, area: QRectF) -> Sequence[Spot]:
        gaps = self._gaps
        if gaps is None:
            return ()
        frame = self._frame(gaps, area)
        spots = []
        for bucket in gaps.buckets:
            middle = (bucket.first + bucket.last) / 2 + 1
            at = self._place(frame, gaps, middle, bucket.high_ns)
            spots.append(Spot(at, _bucket_lines(bucket)))
        for stall in gaps.stalls[:MOST_STALLS]:
            at = self._place(frame, gaps, stall.index + 1, stall.duration_ns)
            spots.append(Spot(at, (stall_words(stall),)))
        return sorted(spots, key=lambda spot: spot.at.x())

    @override
    def paint_figure(self, painter: QPainter, area: QRectF) -> None:
        gaps = self._gaps
        if gaps is None:
            self.paint_title(painter, area, "")
            self.paint_nothing(painter, area)
            return
        frame = self._frame(gaps, area)
        self.paint_title(painter, area, frame.unit)
        frame.paint(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        painter.setPen(QPen(self._themes.color("stage_decode"), 1))
        means = []
        for bucket in gaps.buckets:
            middle = (bucket.first + bucket.last) / 2 + 1
            if bucket.last > bucket.first:
                low = self._place(frame, gaps, middle, bucket.low_ns)
                painter.drawLine(low, self._place(frame, gaps, middle, bucket.high_ns))
            means.append(self._place(frame, gaps, middle, bucket.mean_ns))
        painter.drawPolyline(QPolygonF(means))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._themes.color("danger"))
        for stall in gaps.stalls:
            at = self._place(frame, gaps, stall.index + 1, stall.duration_ns)
            painter.drawPolygon(_triangle(at, self._themes.px(_MARK)))


class GapSpread(GapChart):
    """How many gaps are how long, with the percentiles drawn in."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(tr("How long the gaps are"), themes, parent)

    def _frame(self, gaps: Gaps, area: QRectF) -> Frame:
        x, y = Axis(tr("gap"), Kind.DURATION), Axis(tr("gaps"), Kind.COUNT)
        most = max(1, *(part.count for part in gaps.bins))
        # with a bin more where something is beyond the scale, and room for names above
        width = gaps.spread_ns / _NS_PER_MS * len(gaps.bins) / NUM_BINS
        return self._room(area, x, Span(0.0, width), y, _HEADROOM * most)

    def _box(self, frame: Frame, gaps: Gaps, number: int) -> QRectF:
        width = gaps.spread_ns / _NS_PER_MS / NUM_BINS
        left = frame.place(width * number, float(gaps.bins[number].count))
        right = frame.place(width * (number + 1), 0.0)
        return QRectF(left.x(), left.y(), max(1.0, right.x() - left.x() - 1), right.y() - left.y())

    @override
    def spots(self, area: QRectF) -> Sequence[Spot]:
        gaps = self._gaps
        if gaps is None:
            return ()
        frame = self._frame(gaps, area)
        spots = []
        for number, part in enumerate(gaps.bins):
            if part.count:
                box = self._box(frame, gaps, number)
                count = tr_n("{n} gap", "{n} gaps", part.count)
                share = f"{100 * part.count / gaps.count:.1f}%"
                lines = (f"{count} ({share})", bin_words(part))
                spots.append(Spot(QPointF(box.center().x(), box.top()), lines))
        return spots

    @override
    def paint_figure(self, painter: QPainter, area: QRectF) -> None:
        gaps, themes = self._gaps, self._themes
        self.paint_title(painter, area, "")
        if gaps is None:
            self.paint_nothing(painter, area)
            return
        frame = self._frame(gaps, area)
        frame.paint(painter)
        for number, part in enumerate(gaps.bins):
            if part.count:
                box = self._box(frame, gaps, number)
                is_beyond = part.high_ns is None
                painter.fillRect(box, themes.color("danger" if is_beyond else "stage_decode"))
        self._paint_percentiles(painter, frame, gaps)

    def _paint_percentiles(self, painter: QPainter, frame: Frame, gaps: Gaps) -> None:
        metrics = self.small()[1]
        base = frame.plot.top() + metrics.ascent() / 2
        values = (gaps.p50_ns, gaps.p95_ns, gaps.p99_ns)
        taken = -1e9
        for name, value in zip(_PERCENTILES, values, strict=True):
            if value > gaps.spread_ns:
                continue
            x = round(frame.place(value / _NS_PER_MS, 0.0).x()) + 0.5
            painter.setPen(QPen(self._themes.color("text"), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, frame.plot.top()), QPointF(x, frame.plot.bottom()))
            if x < taken:  # its name would lie on the one before
                base += metrics.height()
            painter.setPen(self._themes.color("text"))
            painter.drawText(QPointF(x + 3, base), name)
            taken = x + metrics.horizontalAdvance(name) + 6


def _bucket_lines(bucket: Bucket) -> tuple[str, ...]:
    if bucket.first == bucket.last:
        gap = tr("{ms} ms", ms=milliseconds(bucket.high_ns))
        return (gap, tr("before token {n}", n=f"{bucket.first + 1:,}"))
    return (
        tr("at most {ms} ms", ms=milliseconds(bucket.high_ns)),
        tr(
            "before tokens {first} to {last}",
            first=f"{bucket.first + 1:,}",
            last=f"{bucket.last + 1:,}",
        ),
        tr("mean {ms} ms", ms=milliseconds(bucket.mean_ns)),
    )


def _triangle(at: QPointF, half: float) -> QPolygonF:
    return QPolygonF(
        [
            QPointF(at.x(), at.y() - half),
            QPointF(at.x() + half, at.y() + half),
            QPointF(at.x() - half, at.y() + half),
        ]
    )
