"""What all charts share: a title, a read-out at the pointer or by arrow keys, and export.

A subclass paints its figure into any rectangle, on a screen or into a file, and names the spots
that can be read. The read-out is part of the widget alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFont,
    QFontMetricsF,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from ui.charts.figures import Table
from ui.i18n import tr
from ui.theme import RADIUS_CONTROL, SMALL_FONT_PX, ThemeSource

HEIGHT = 240
_WIDTH = 380
_LEAST = (200, 160)
_REACH = 24.0  # how near the pointer must come to a spot
_EXPORT_SCALE = 2.0
_NEXT = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}


@dataclass(frozen=True, slots=True)
class Spot:
    """A place that can be read: what it says, the most important line first."""

    at: QPointF
    lines: tuple[str, ...]


class Figure(Protocol):
    """What every figure has."""

    @property
    def title(self) -> str:
        """Its name."""
        ...

    @property
    def sentence(self) -> str:
        """What it shows, in words."""
        ...


class Chart(QWidget):
    """A painted figure. ``pointed``: what is read at present, one line; empty for nothing.

    A subclass says which kind of figure it paints, and sets the first before anything is asked.
    """

    pointed = Signal(str)
    _figure: Figure

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._spot: int | None = None
        self._shows_ring = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        themes.changed.connect(self._on_theme)

    # ------------------------------------------------------------------ what a subclass gives

    @property
    def title(self) -> str:
        """What stands above the figure."""
        return self._figure.title

    @property
    def sentence(self) -> str:
        """What the figure shows, for whoever does not see it."""
        return self._figure.sentence

    def table(self) -> Table:
        """All values of the figure."""
        raise NotImplementedError

    def spots(self, area: QRectF) -> Sequence[Spot]:
        """What can be read of the figure painted into ``area``; the arrow keys go this way."""
        raise NotImplementedError

    def paint_figure(self, painter: QPainter, area: QRectF) -> None:
        """Paint everything but the read-out."""
        raise NotImplementedError

    # ------------------------------------------------------------------ export

    def image(self) -> QImage:
        """The figure as it stands, twice as fine, on the page's ground."""
        size = self.size()
        image = QImage(size * _EXPORT_SCALE, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(_EXPORT_SCALE)
        image.fill(self._themes.color("background"))
        painter = QPainter(image)
        self._paint_for_export(painter)
        painter.end()
        return image

    def write_svg(self, path: Path) -> None:
        """Write the figure as a drawing. Raises OSError."""
        path.touch()  # the generator itself says nothing of a place that cannot be written to
        generator = QSvgGenerator()
        generator.setFileName(str(path))
        generator.setSize(self.size())
        generator.setViewBox(QRect(0, 0, self.width(), self.height()))
        generator.setTitle(self.title)
        generator.setDescription(self.sentence)
        painter = QPainter(generator)
        painter.fillRect(self.rect(), self._themes.color("background"))
        self._paint_for_export(painter)
        painter.end()

    def write_png(self, path: Path) -> None:
        """Write the figure as a picture, of the kind its ending says. Raises OSError."""
        if not self.image().save(str(path)):
            raise OSError(tr("The picture could not be written to {path}.", path=path))

    def _paint_for_export(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.paint_figure(painter, QRectF(self.rect()).adjusted(8, 8, -8, -8))

    # ------------------------------------------------------------------ for subclasses

    def show_figure(self, figure: Figure) -> None:
        """Show another figure; the same again changes nothing."""
        if figure != self._figure:
            self._figure = figure
            self.figure_changed()

    def figure_changed(self) -> None:
        """The figure is another one: tell the screen reader, and paint."""
        self._point(None)
        self.setAccessibleName(self.title)
        self.setAccessibleDescription(self.sentence)
        self.updateGeometry()
        self.update()

    def small(self) -> tuple[QFont, QFontMetricsF]:
        """The face of ticks and legends, with its metrics."""
        font = self._themes.font(SMALL_FONT_PX)
        return font, QFontMetricsF(font)

    def paint_title(self, painter: QPainter, area: QRectF, unit: str) -> float:
        """The title with the unit behind it; returns where the rest begins."""
        themes = self._themes
        font = themes.font(SMALL_FONT_PX, QFont.Weight.DemiBold)
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        painter.setPen(themes.color("text"))
        base = area.top() + metrics.ascent()
        right = Qt.TextElideMode.ElideRight
        title = metrics.elidedText(self.title, right, area.width())
        painter.drawText(QPointF(area.left(), base), title)
        small, small_metrics = self.small()
        left = area.left() + metrics.horizontalAdvance(title) + themes.px(6)
        painter.setFont(small)
        if unit and left + small_metrics.horizontalAdvance(unit) <= area.right():
            painter.setPen(themes.color("muted"))
            painter.drawText(QPointF(left, base), unit)
        return area.top() + metrics.height() + themes.px(4)

    def paint_nothing(self, painter: QPainter, area: QRectF) -> None:
        """Say that there is nothing to show yet."""
        painter.setFont(self.small()[0])
        painter.setPen(self._themes.color("muted"))
        painter.drawText(area, Qt.AlignmentFlag.AlignCenter, tr("Nothing is measured yet."))

    # ------------------------------------------------------------------ the widget

    @override
    def sizeHint(self) -> QSize:
        return QSize(self._themes.px(_WIDTH), self._themes.px(HEIGHT))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(_LEAST[0]), self._themes.px(_LEAST[1]))

    def _area(self) -> QRectF:
        return QRectF(self.rect()).adjusted(3, 3, -3, -3)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.paint_figure(painter, self._area())
        if (spot := self._current()) is not None:
            self._paint_spot(painter, spot)
        if self._shows_ring:
            painter.setPen(QPen(self._themes.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            ring = QRectF(self.rect()).adjusted(1, 1, -1, -1)
            painter.drawRoundedRect(ring, RADIUS_CONTROL, RADIUS_CONTROL)
        painter.end()

    def _current(self) -> Spot | None:
        spots = self.spots(self._area()) if self._spot is not None else ()
        number = self._spot or 0
        return spots[number] if number < len(spots) else None

    def _point(self, spot: int | None) -> None:
        if spot == self._spot:
            return
        self._spot = spot
        found = self._current()
        words = "" if found is None else " · ".join(found.lines)
        # a screen reader speaks a description that changes
        self.setAccessibleDescription(words or self.sentence)
        self.pointed.emit(words)
        self.update()

    def _paint_spot(self, painter: QPainter, spot: Spot) -> None:
        themes = self._themes
        font, metrics = self.small()
        pad, side = themes.px(8), themes.px(11)
        ring = QRectF(spot.at.x() - side / 2, spot.at.y() - side / 2, side, side)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(themes.color("text"), themes.px(1.5)))
        painter.drawEllipse(ring)
        width = max(metrics.horizontalAdvance(line) for line in spot.lines) + 2 * pad
        height = len(spot.lines) * metrics.height() + 2 * pad
        box = QRectF(spot.at.x() + side, spot.at.y() - side - height, width, height)
        if box.right() > self.width() - 2:
            box.moveRight(spot.at.x() - side)
        box.moveLeft(max(2.0, box.left()))
        box.moveTop(max(2.0, box.top()))
        painter.setPen(QPen(themes.color("muted"), 1))
        painter.setBrush(themes.color("surface"))
        painter.drawRoundedRect(box, RADIUS_CONTROL, RADIUS_CONTROL)
        painter.setFont(font)
        base = box.top() + pad + metrics.ascent()
        for number, line in enumerate(spot.lines):
            painter.setPen(themes.color("muted" if number else "text"))
            painter.drawText(QPointF(box.left() + pad, base + number * metrics.height()), line)

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place, reach = event.position(), self._themes.px(_REACH)
        spots = self.spots(self._area())
        far = [_distance(spot.at, place) for spot in spots]
        nearest = min(range(len(far)), key=far.__getitem__, default=None)
        self._point(nearest if nearest is not None and far[nearest] <= reach else None)
        super().mouseMoveEvent(event)

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self._point(None)
        super().leaveEvent(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        count = len(self.spots(self._area()))
        step = _NEXT.get(Qt.Key(event.key()))
        if step is not None and count:
            first = 0 if step > 0 else count - 1
            self._point(first if self._spot is None else (self._spot + step) % count)
        elif event.key() == Qt.Key.Key_Escape and self._spot is not None:
            self._point(None)
        else:
            super().keyPressEvent(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        reasons = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        self._shows_ring = event.reason() in reasons
        self.update()
        super().focusInEvent(event)

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._shows_ring = False
        self._point(None)
        self.update()
        super().focusOutEvent(event)

    def _on_theme(self) -> None:
        self.updateGeometry()
        self.update()


def _distance(one: QPointF, other: QPointF) -> float:
    return float(QPointF(one - other).manhattanLength())
