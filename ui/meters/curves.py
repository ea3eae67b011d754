"""Two measured curves against the length of an answer: with the KV cache and without it.

Paints from points; measures nothing. What the picture says stands in a table, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from ui.i18n import tr
from ui.meters.trace import nice_ceiling
from ui.theme import SMALL_FONT_PX, ThemeSource
from ui.widgets.units import duration_quantity

HEIGHT = 190
MOST_POINTS = 60
SWATCH = 22


@dataclass(frozen=True, slots=True)
class Run:
    """When each token of one answer came, in ns since Send."""

    name: str
    token: str
    is_dashed: bool
    times_ns: tuple[int, ...] = ()

    @property
    def gaps_ns(self) -> tuple[int, ...]:
        """From each token to the next."""
        times = self.times_ns
        return tuple(after - before for before, after in pairwise(times))


def means(values: Sequence[int], most: int = MOST_POINTS) -> list[tuple[float, float]]:
    """At most ``most`` points (place from 1, mean) of as many neighbours each."""
    size = max(1, -(-len(values) // most))
    points = []
    for start in range(0, len(values), size):
        part = values[start : start + size]
        points.append((start + (len(part) + 1) / 2, sum(part) / len(part)))
    return points


class Curves(QWidget):
    """One quantity of both runs. ``is_total``: the time so far, else the time of each token."""

    def __init__(
        self, title: str, themes: ThemeSource, parent: QWidget | None = None, *, is_total: bool
    ) -> None:
        super().__init__(parent)
        self._title = title
        self._themes = themes
        self._is_total = is_total
        self._runs: tuple[Run, ...] = ()
        self._num_tokens = 1
        self.setAccessibleName(title)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_runs(self, runs: Sequence[Run], num_tokens: int) -> None:
        """Show these runs of an answer of at most ``num_tokens``."""
        self._runs, self._num_tokens = tuple(runs), max(2, num_tokens)
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(self._themes.px(300), self._themes.px(HEIGHT))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        themes = self._themes
        painter = QPainter(self)
        font = themes.font(SMALL_FONT_PX)
        metrics = QFontMetrics(font)
        painter.setFont(font)
        line = metrics.height() + 2
        frame = QRectF(0, 2 * line + 4, self.width() - 1, self.height() - 3 * line - 8)
        curves = [self._points(run) for run in self._runs]
        highest = max((y for points in curves for _x, y in points), default=0.0)
        ceiling = nice_ceiling(max(1.0, highest))
        painter.setPen(themes.color("text"))
        painter.drawText(QPointF(0, metrics.ascent()), self._title)
        painter.setPen(themes.color("muted"))
        if highest:
            painter.drawText(QPointF(0, line + metrics.ascent()), str(duration_quantity(ceiling)))
        self._paint_axis(painter, frame, metrics)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for run, points in zip(self._runs, curves, strict=True):
            painter.setPen(run_pen(run, themes.color(run.token)))
            place = [
                QPointF(
                    frame.left() + frame.width() * x / self._num_tokens,
                    frame.bottom() - frame.height() * y / ceiling,
                )
                for x, y in points
            ]
            painter.drawPolyline(QPolygonF(place))
        painter.end()

    def _points(self, run: Run) -> list[tuple[float, float]]:
        if not self._is_total:
            return means(run.gaps_ns)
        step = max(1, len(run.times_ns) // MOST_POINTS)
        places = range(0, len(run.times_ns), step)
        return [(place + 1.0, float(run.times_ns[place])) for place in places]

    def _paint_axis(self, painter: QPainter, frame: QRectF, metrics: QFontMetrics) -> None:
        painter.setPen(QPen(self._themes.color("line"), 1))
        painter.drawLine(frame.bottomLeft(), frame.bottomRight())
        painter.drawLine(frame.topLeft(), frame.topRight())
        painter.setPen(self._themes.color("muted"))
        below = frame.bottom() + 4 + metrics.ascent()
        painter.drawText(QPointF(0, below), "0")
        last = tr("{n} tokens", n=f"{self._num_tokens:,}")
        width = metrics.horizontalAdvance(last)
        painter.drawText(QPointF(frame.right() - width, below), last)


def run_pen(run: Run, color: QColor) -> QPen:
    """Solid or dashed, so that the two are told apart without their colours."""
    pen = QPen(color, 2)
    if run.is_dashed:
        pen.setStyle(Qt.PenStyle.DashLine)
    return pen


class RunKey(QWidget):
    """Which line is which run."""

    def __init__(self, run: Run, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run = run
        self._themes = themes
        self.setAccessibleName(run.name)

    @override
    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._themes.font(SMALL_FONT_PX))
        width = self._themes.px(SWATCH + 8) + metrics.horizontalAdvance(self._run.name) + 2
        return QSize(width, metrics.height() + 4)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        themes = self._themes
        painter = QPainter(self)
        painter.setPen(run_pen(self._run, themes.color(self._run.token)))
        middle = self.height() // 2
        painter.drawLine(0, middle, themes.px(SWATCH), middle)
        painter.setFont(themes.font(SMALL_FONT_PX))
        painter.setPen(themes.color("muted"))
        room = self.rect().adjusted(themes.px(SWATCH + 8), 0, 0, 0)
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, self._run.name)
        painter.end()
