"""A bar of coloured parts with a legend that wraps, for stages, cache and memory.

Painted, not composed of widgets: it is updated up to ten times a second. What the colours say is
also written in the legend, in tool tips and for screen readers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QFontMetrics,
    QHelpEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget
from typing_extensions import override

from ui.theme import SMALL_FONT_PX, ThemeSource

BAR_HEIGHT = 6
SWATCH = 8
SWATCH_GAP = 4
ITEM_GAP = 10
LINE_GAP = 4
# a part that is there at all is seen
MIN_PART_PX = 3.0


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its theme token, its share, its legend and its longer description.

    ``label`` "" keeps a part out of the legend; ``token`` "" is text without a swatch.
    """

    token: str
    amount: float
    label: str
    description: str = ""


class PartsBar(QWidget):
    """Parts side by side; what is missing to ``total`` is track."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._parts: tuple[Part, ...] = ()
        self._total = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        themes.changed.connect(self.updateGeometry)

    def set_parts(self, parts: Sequence[Part], total: float | None = None) -> None:
        """Show these parts of ``total`` (their sum when None)."""
        shown = tuple(part for part in parts if part.amount > 0)
        whole = float(sum(part.amount for part in shown)) if total is None else float(total)
        if (shown, whole) == (self._parts, self._total):
            return
        self._parts, self._total = shown, whole
        self.setAccessibleDescription("; ".join(part.description for part in shown))
        self.update()

    def spans(self) -> list[tuple[float, float]]:
        """Left edge and width of each part, in pixels."""
        if self._total <= 0:
            return []
        widths = [
            max(MIN_PART_PX, part.amount / self._total * self.width()) for part in self._parts
        ]
        # small parts were widened: the widest gives the pixels back
        excess = sum(widths) - self.width()
        if excess > 0:
            widest = widths.index(max(widths))
            widths[widest] = max(MIN_PART_PX, widths[widest] - excess)
        spans, left = [], 0.0
        for width in widths:
            spans.append((left, width))
            left += width
        return spans

    @override
    def sizeHint(self) -> QSize:
        return QSize(self._themes.px(120), self._themes.px(BAR_HEIGHT))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(40), self._themes.px(BAR_HEIGHT))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        clip = QPainterPath()
        radius = self.height() / 2
        clip.addRoundedRect(QRectF(self.rect()), radius, radius)
        painter.setClipPath(clip)
        painter.fillRect(self.rect(), self._themes.color("track"))
        for part, (left, width) in zip(self._parts, self.spans(), strict=True):
            # one pixel of ground tells neighbours apart without colour
            shown = QRectF(left, 0, max(1.0, width - 1), self.height())
            painter.fillRect(shown, self._themes.color(part.token))
        painter.end()

    @override
    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            self._show_tip(event.pos(), event.globalPos())
            return True
        return super().event(event)

    def part_at(self, x: float) -> Part | None:
        """The part under a horizontal position."""
        for part, (left, width) in zip(self._parts, self.spans(), strict=True):
            if left <= x < left + width:
                return part
        return None

    def _show_tip(self, here: QPoint, on_screen: QPoint) -> None:
        part = self.part_at(here.x())
        if part is None:
            QToolTip.hideText()
        else:
            QToolTip.showText(on_screen, part.description or part.label, self)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a part's swatch and label stand, px."""

    token: str
    label: str
    rect: QRect


class Legend(QWidget):
    """Swatch and label of each part, in as many lines as needed.

    It keeps the most lines it ever needed, so that what stands below does not jump with each
    answer.
    """

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._parts: tuple[Part, ...] = ()
        self._known: tuple[int, Sequence[_Place]] | None = None  # for the width asked for last
        self._most_lines = 1
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        themes.changed.connect(self._forget_lines)

    def set_parts(self, parts: Sequence[Part]) -> None:
        """Show these parts, in order."""
        shown = tuple(part for part in parts if part.label)
        if shown == self._parts:
            return
        before = self._places(self.width())
        self._parts, self._known = shown, None
        after = self._places(self.width())
        self.setAccessibleName(", ".join(part.label for part in shown))
        for old, new in zip_longest(before, after):
            if old != new:
                self._update(old, new)
        lines = max(self._most_lines, self._num_lines(self.width()))
        if lines != self._most_lines:
            self._most_lines = lines
            self.updateGeometry()

    def text(self) -> str:
        """The labels as one line."""
        return " · ".join(part.label for part in self._parts)

    def _update(self, *places: _Place | None) -> None:
        for place in places:
            if place is not None:
                self.update(place.rect)

    def _places(self, width: int) -> Sequence[_Place]:
        """Where everything stands in a legend so wide."""
        if self._known is None or self._known[0] != width:
            self._known = width, self._placed(width)
        return self._known[1]

    def _placed(self, width: int) -> Sequence[_Place]:
        metrics = QFontMetrics(self._themes.font(SMALL_FONT_PX))
        height, x, y = metrics.height(), 0, 0
        line_gap, item_gap = self._themes.px(LINE_GAP), self._themes.px(ITEM_GAP)
        swatch = self._themes.px(SWATCH) + self._themes.px(SWATCH_GAP)
        places: list[_Place] = []
        for part in self._parts:
            item = metrics.horizontalAdvance(part.label) + 1 + (swatch if part.token else 0)
            if x and x + item > width:
                x, y = 0, y + height + line_gap
            places.append(_Place(part.token, part.label, QRect(x, y, item, height)))
            x += item + item_gap
        return places

    def _pitch(self) -> int:
        line = QFontMetrics(self._themes.font(SMALL_FONT_PX)).height()
        return line + self._themes.px(LINE_GAP)

    def _num_lines(self, width: int) -> int:
        places = self._places(width)
        return places[-1].rect.top() // self._pitch() + 1 if places else 1

    def _forget_lines(self) -> None:
        self._known = None
        self._most_lines = self._num_lines(self.width())
        self.updateGeometry()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._forget_lines()

    @override
    def heightForWidth(self, arg__1: int) -> int:
        lines = max(self._most_lines, self._num_lines(arg__1))
        return lines * self._pitch() - self._themes.px(LINE_GAP)

    @override
    def sizeHint(self) -> QSize:
        width = max(self.width(), self._themes.px(200))
        return QSize(width, self.heightForWidth(width))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(80), QFontMetrics(self._themes.font(SMALL_FONT_PX)).height())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._themes.font(SMALL_FONT_PX))
        swatch, gap = self._themes.px(SWATCH), self._themes.px(SWATCH_GAP)
        for place in self._places(self.width()):
            text = QRect(place.rect)
            if not text.intersects(event.rect()):
                continue
            if place.token:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self._themes.color(place.token))
                top = text.center().y() - swatch // 2 + 1
                painter.drawRoundedRect(text.left(), top, swatch, swatch, 2, 2)
                text.setLeft(text.left() + swatch + gap)
            painter.setPen(self._themes.color("muted"))
            painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, place.label)
        painter.end()
