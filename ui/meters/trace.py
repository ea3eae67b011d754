"""The live trace of inter-token gaps.

A ring of the latest gaps, one pixel column or more each, painted with a hairline and no
antialiasing. The scale follows the ordinary gaps; a stall beyond it stands at the top with its
figure, so that it is seen and the rest stays legible. The owner repaints it.
"""

from collections import deque
from collections.abc import Iterable, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen, QPolygonF, QTransform
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from ui.meters.itl import percentile
from ui.theme import ThemeSource
from ui.widgets.units import duration_quantity

CAPACITY = 256
HEIGHT = 56
SCALE_FONT_PX = 10
# the scale reaches this many medians; a gap beyond it is a stall
STALL_MEDIANS = 5
NICE_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
NS_PER_MS = 1_000_000


def nice_ceiling(value_ns: float) -> float:
    """The next of 1, 1.5, 2, 3, 5, 8, 10 ... (in units of 0.1 ms) at or above a duration."""
    base = NS_PER_MS / 10
    while True:
        for step in NICE_STEPS:
            if value_ns <= base * step:
                return base * step
        base *= 10


def scale_for(gaps: Iterable[int], present: float) -> float:
    """The top of the scale in ns; kept while the gaps fill between a third and all of it.

    Tokens that one step gave together have no gap, and do not count.
    """
    ordered = sorted(gap for gap in gaps if gap > 0)
    if not ordered:
        return present
    median = percentile(ordered, 0.5)
    wanted = nice_ceiling(max(2 * median, min(ordered[-1], STALL_MEDIANS * median)))
    return present if wanted <= present <= 3 * wanted else wanted


class ItlTrace(QWidget):
    """Gaps from left (oldest) to right (newest)."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._gaps: deque[int] = deque(maxlen=CAPACITY)
        self._fresh: list[int] = []  # gaps that are not in the line yet
        self._line = QPolygonF()  # x: numbers of gaps, y: ns, up to the scale's top
        self._line_ceiling = 0.0
        self._num_drawn = 0
        self._ceiling = nice_ceiling(NS_PER_MS)
        self._is_grown = False  # since the scale was found
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        themes.changed.connect(self.updateGeometry)

    @property
    def ceiling_ns(self) -> float:
        """The gap at the top of the scale."""
        if self._is_grown:
            self._is_grown = False
            self._ceiling = scale_for(self._gaps, self._ceiling)
        return self._ceiling

    def clear(self) -> None:
        """Forget all gaps."""
        self._gaps.clear()
        self._fresh.clear()
        self._line.clear()

    def add(self, gaps: Sequence[int]) -> None:
        """Take in new gaps (ns), oldest first; call ``update`` to see them."""
        self._gaps.extend(gaps)
        self._fresh.extend(gaps)
        self._is_grown = True

    def stalls(self) -> list[int]:
        """Gaps that stand above the scale."""
        ceiling = self.ceiling_ns
        return [gap for gap in self._gaps if gap > ceiling]

    @override
    def sizeHint(self) -> QSize:
        return QSize(self._themes.px(200), self._themes.px(HEIGHT))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(80), self._themes.px(HEIGHT))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        bottom = self.height() - 1
        painter.setPen(QPen(self._themes.color("line"), 1))
        painter.drawLine(0, bottom, self.width(), bottom)
        if len(self._gaps) > 1:
            self._paint_gaps(painter, bottom)
            self._paint_scale(painter)
        painter.end()

    def _top(self) -> int:
        return self._themes.px(SCALE_FONT_PX) + 4

    def _grow_line(self) -> None:
        """Take new gaps into the line, and all of them once more where the scale has changed."""
        ceiling = self.ceiling_ns
        if ceiling != self._line_ceiling:
            self._line_ceiling = ceiling
            self._line.clear()
            self._fresh = list(self._gaps)
        for gap in self._fresh[-CAPACITY:]:
            self._line.append(QPointF(self._num_drawn, min(gap, ceiling)))
            self._num_drawn += 1
        self._fresh.clear()
        self._line.remove(0, max(0, self._line.size() - CAPACITY))

    def _to_widget(self, bottom: int) -> QTransform:
        """From the line's coordinates to the widget's: the newest gap stands at the right edge."""
        step = self.width() / (CAPACITY - 1)
        reach = bottom - 2 - self._top()
        left = self.width() - 1 - step * (self._num_drawn - 1)
        return QTransform(step, 0, 0, -reach / self._line_ceiling, left, bottom - 2)

    def _paint_gaps(self, painter: QPainter, bottom: int) -> None:
        self._grow_line()
        to_widget = self._to_widget(bottom)
        pen = QPen(self._themes.color("stage_decode"), 1)
        pen.setCosmetic(True)  # as thin however the line is scaled
        painter.setPen(pen)
        painter.setWorldTransform(to_widget)
        painter.drawPolyline(self._line)
        painter.resetTransform()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._themes.color("danger"))
        for number, gap in enumerate(self._gaps, self._num_drawn - len(self._gaps)):
            if gap > self._line_ceiling:
                point = to_widget.map(QPointF(number, self._line_ceiling))
                painter.drawRect(QRectF(point.x() - 1, point.y() - 3, 3, 3))

    def _ceiling_words(self) -> str:
        ms = self.ceiling_ns / NS_PER_MS
        return f"{ms:g} ms" if ms < 1000 else f"{ms / 1000:g} s"

    def _paint_scale(self, painter: QPainter) -> None:
        font = self._themes.font(SCALE_FONT_PX)
        metrics = QFontMetrics(font)
        painter.setFont(font)
        painter.setPen(self._themes.color("muted"))
        painter.drawText(0, metrics.ascent(), self._ceiling_words())
        stalls = self.stalls()
        if stalls:
            worst = str(duration_quantity(max(stalls)))
            place = self.width() - metrics.horizontalAdvance(worst)
            painter.drawText(place, metrics.ascent(), worst)
