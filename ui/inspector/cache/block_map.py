"""The blocks of one pool in their order, line by line: a cell each, or bands where they are many.

Paints runs of blocks to scale; decides nothing about them. The pointer, or the arrow keys, choose a
run to be read.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from engine.api import BlockState
from ui.inspector.cache.bands import Band, coarse, look_of
from ui.inspector.cache.patterns import OwnerBrushes
from ui.inspector.cache.picture import Owner
from ui.theme import ThemeSource

_CELL = 11
_MOST_LINES = 12
_LINE = 10
_GAP = 3
_LEAST_SEEN = 3
_MOST_BANDS = 500  # beyond these, neighbours are painted as one
_LEAST_CELL = 4.0  # px from which single blocks are told apart
_NEXT = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}


@dataclass(frozen=True, slots=True)
class Lines:
    """How blocks are laid out: so many a line, ``width`` px each."""

    a_line: int
    width: float
    number: int


class BlockMap(QWidget):
    """``pointed``: index of the band at the pointer or the keys; -1 for none."""

    pointed = Signal(int)

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._bands: tuple[Band, ...] = ()
        self._ends: tuple[int, ...] = ()
        self._chosen: int | None = None
        self._drawn: QPixmap | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        themes.changed.connect(self._on_theme)

    @property
    def bands(self) -> tuple[Band, ...]:
        """What is shown."""
        return self._bands

    @property
    def num_blocks(self) -> int:
        """All of them."""
        return self._ends[-1] if self._ends else 0

    def set_bands(self, bands: Sequence[Band]) -> None:
        """Show these bands, in the order of the pool."""
        shown = tuple(bands)
        if shown == self._bands:
            return
        count = self.num_blocks
        self._bands = shown
        self._ends = tuple(accumulate(band.count for band in shown))
        if self.num_blocks != count:
            self.updateGeometry()
        self._redraw()
        if self._chosen is not None:  # what is read there may be another's now
            if self._chosen >= len(shown):
                self._chosen = None
            self._tell()

    # ------------------------------------------------------------------ where things are

    def lines(self, width: int) -> Lines:
        """The layout in so many pixels: cells as long as these fit into a dozen lines."""
        cell = self._themes.px(_CELL)
        a_line = max(1, width // cell)
        number = -(-self.num_blocks // a_line)
        if number <= _MOST_LINES:
            return Lines(a_line, cell, max(1, number))
        a_line = -(-self.num_blocks // _MOST_LINES)
        return Lines(a_line, width / a_line, _MOST_LINES)

    def band_at(self, place: QPointF) -> int | None:
        """Index of the band under a position; None where there is none."""
        lines = self.lines(self.width())
        line, within = divmod(place.y(), self._pitch())
        column = int(place.x() / lines.width)
        block = int(line) * lines.a_line + column
        is_inside = within <= self._themes.px(_LINE) and 0 <= column < lines.a_line
        if not is_inside or place.y() < 0 or not 0 <= block < self.num_blocks:
            return None
        return bisect_right(self._ends, block)

    def _boxes(self, index: int, lines: Lines) -> Iterator[QRectF]:
        """The rectangles of a band: one in each line that it is in."""
        end = self._ends[index]
        return self._spread(end - self._bands[index].count, end, lines)

    def _spread(self, start: int, end: int, lines: Lines) -> Iterator[QRectF]:
        height = self._themes.px(_LINE)
        while start < end:
            line, column = divmod(start, lines.a_line)
            here = min(end - start, lines.a_line - column)
            width = here * lines.width
            yield QRectF(column * lines.width, line * self._pitch(), width, height)
            start += here

    def _pitch(self) -> int:
        return self._themes.px(_LINE) + self._themes.px(_GAP)

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, arg__1: int) -> int:
        return self.lines(max(1, arg__1)).number * self._pitch()

    @override
    def sizeHint(self) -> QSize:
        width = max(self.width(), self._themes.px(200))
        return QSize(width, self.heightForWidth(width))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(80), self._pitch())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._drawn = None

    def _on_theme(self) -> None:
        self._redraw()
        self.updateGeometry()

    # ------------------------------------------------------------------ painting

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self._drawn is None:
            self._drawn = self._draw()
        painter.drawPixmap(0, 0, self._drawn)
        if self._chosen is not None:
            painter.setPen(QPen(self._themes.color("text"), self._themes.px(2)))
            for box in self._boxes(self._chosen, self.lines(self.width())):
                painter.drawRect(box.adjusted(1, 1, -1, -1))
        elif self.hasFocus():
            painter.setPen(QPen(self._themes.color("accent"), 2))
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        painter.end()

    def _draw(self) -> QPixmap:
        """All bands; kept until they change, because the pointer moves more often."""
        ratio = self.devicePixelRatioF()
        drawn = QPixmap(self.size() * ratio)
        drawn.setDevicePixelRatio(ratio)
        drawn.fill(Qt.GlobalColor.transparent)
        painter = QPainter(drawn)
        lines, brushes = self.lines(self.width()), OwnerBrushes(self._themes)
        # free ones first: a block among thousands is widened, so that it is seen at all
        for band, start in sorted(self._merged(lines), key=_is_taken):
            for box in self._spread(start, start + band.count, lines):
                self._paint_band(painter, box, band, brushes)
        if lines.width >= _LEAST_CELL:
            self._paint_cells(painter, lines)
        painter.end()
        return drawn

    def _merged(self, lines: Lines) -> Iterator[tuple[Band, int]]:
        """Bands that look alike in one, and where each begins; not more than can be told apart."""
        bands: Sequence[Band] = self._bands
        if len(bands) > _MOST_BANDS:
            slots = lines.number * max(1, self.width() // self._themes.px(2 * _LEAST_SEEN))
            bands = coarse(bands, -(-self.num_blocks // slots))
        start = 0
        for (owner, state), alike in groupby(bands, key=look_of):
            count = sum(band.count for band in alike)
            yield Band(count, owner, state), start
            start += count

    def _redraw(self) -> None:
        self._drawn = None
        self.update()

    def _paint_band(
        self, painter: QPainter, box: QRectF, band: Band, brushes: OwnerBrushes
    ) -> None:
        if band.owner is not Owner.FREE:
            box.setWidth(max(box.width(), self._themes.px(_LEAST_SEEN)))
            box.moveRight(min(box.right(), self.width()))
        brushes.fill(painter, box, band.owner)
        if band.state is BlockState.KEPT:  # nobody computes with them: they are half as high
            height = box.height() / 2
            below = QRectF(box.left(), box.bottom() - height, box.width(), height)
            brushes.clear(painter, below)

    def _paint_cells(self, painter: QPainter, lines: Lines) -> None:
        painter.setPen(QPen(self._themes.color("background"), self._themes.px(1.5)))
        for column in range(1, lines.a_line + 1):
            x = column * lines.width
            painter.drawLine(QPointF(x, 0), QPointF(x, self.height()))

    # ------------------------------------------------------------------ reading

    def _choose(self, index: int | None) -> None:
        if index != self._chosen:
            self._chosen = index
            self._tell()
            self.update()

    def _tell(self) -> None:
        self.pointed.emit(-1 if self._chosen is None else self._chosen)

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._choose(self.band_at(event.position()))
        super().mouseMoveEvent(event)

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self._choose(None)
        super().leaveEvent(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _NEXT.get(Qt.Key(event.key()))
        count = len(self._bands)
        if step is not None and count:
            first = 0 if step > 0 else count - 1
            self._choose(first if self._chosen is None else (self._chosen + step) % count)
        elif event.key() == Qt.Key.Key_Escape and self._chosen is not None:
            self._choose(None)
        else:
            super().keyPressEvent(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        self.update()
        super().focusInEvent(event)

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._choose(None)
        self.update()
        super().focusOutEvent(event)


def _is_taken(placed: tuple[Band, int]) -> bool:
    return placed[0].owner is not Owner.FREE
