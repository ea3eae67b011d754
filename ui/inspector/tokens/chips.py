"""Tokens as a flowing run of chips, painted by one widget.

Paints the lines that are exposed and no others; text and widths are reckoned once for a run.
Keeps which chip is chosen and which is pointed at; what that means is its owner's to say.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from engine.api import InspectedToken, TokenOrigin
from ui.i18n import tr
from ui.inspector.tokens.chip_layout import ChipLayout
from ui.inspector.tokens.chip_look import ChipLook, Measures
from ui.inspector.tokens.pieces import read_out
from ui.inspector.tokens.tint import TintBy
from ui.theme import ThemeSource

_PAGE: Final = 8  # lines
_SLICE: Final = 1500  # chips that are placed without a pause
_STEPS: Final = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}
_LINES: Final = {
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_PageDown: _PAGE,
    Qt.Key.Key_PageUp: -_PAGE,
}


class TokenChips(QWidget):
    """``chosen`` and ``pointed`` carry a token's place in what was set; -1: none."""

    chosen = Signal(int)
    pointed = Signal(int)
    grown = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._tokens: Sequence[InspectedToken] = ()
        self._shown: Sequence[int] = ()  # places of the tokens that have a chip
        self._look = ChipLook.of(themes)
        self._measures = Measures(self._look)
        self._layout = ChipLayout(self._look.gap, self._look.line)
        self._by = TintBy.PROBABILITY
        self._chosen = -1  # these two count chips
        self._pointed = -1
        self._wish = -1  # a token that is to be chosen once it has its chip
        self._shows_ring = False
        self._rest = QTimer(self)
        self._rest.setObjectName("token-chips")
        self._rest.setSingleShot(True)
        self._rest.setInterval(0)
        self._rest.timeout.connect(self._grow)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Tokens"))
        themes.changed.connect(self._on_theme)

    # ------------------------------------------------------------------ what it is told

    def set_tokens(self, tokens: Sequence[InspectedToken], shown: Sequence[int]) -> None:
        """Show the tokens at the places ``shown``; a chosen one stays chosen among them.

        Of many only the first have their chips at once, the others soon: ``grown`` tells of them.
        """
        is_same = tokens is self._tokens
        self._wish = self.chosen_place if is_same and self._chosen >= 0 else -1
        if not is_same:
            self._tokens = tokens
            self._measures = Measures(self._look)
        self._shown = shown
        self._begin()

    def set_tint(self, by: TintBy) -> None:
        """What the tint of the answer's tokens shows."""
        self._by = by
        self.update()

    @property
    def chosen_place(self) -> int:
        """The chosen token's place; -1 while none is."""
        return self._shown[self._chosen] if self._chosen >= 0 else -1

    @property
    def is_complete(self) -> bool:
        """Whether every token that is shown has its chip."""
        return self._layout.num_chips == len(self._shown)

    def choose(self, place: int) -> None:
        """Choose the token at a place, if it has a chip."""
        self._choose(self._chip_of(place))

    def rect_of(self, place: int) -> QRectF:
        """Where a token's chip stands; empty for one without."""
        chip = self._chip_of(place)
        return QRectF() if chip < 0 else self._layout.rect(chip)

    def _chip_of(self, place: int) -> int:
        """A token's chip; -1 for one without."""
        chip = bisect_left(self._shown, place)
        is_there = chip < self._layout.num_chips and self._shown[chip] == place
        return chip if is_there else -1

    # ------------------------------------------------------------------ layout

    def _begin(self) -> None:
        """Place the chips anew, the first of them now."""
        self._layout = ChipLayout(self._look.gap, self._look.line)
        self._layout.set_room(self.width())
        self._pointed = -1
        self._choose(-1)
        self._grow()

    def _grow(self) -> None:
        """Place as many more chips as take less than a frame."""
        first = self._layout.num_chips
        places = self._shown[first : first + _SLICE]
        if places:
            self._measures.extend(self._tokens, places[-1] + 1)
        widths, breaks = self._measures.widths, self._measures.breaks
        self._layout.add([widths[place] for place in places], [breaks[place] for place in places])
        self._fit()
        if self._wish >= 0 and (chip := self._chip_of(self._wish)) >= 0:
            self._wish = -1
            self._choose(chip)
        if not self.is_complete:
            self._rest.start()
        self.grown.emit()

    def _fit(self) -> None:
        self.setFixedHeight(max(1, int(self._layout.height) + 1))
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(self._themes.px(240), int(self._layout.height))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._layout.set_room(self.width())
            self._fit()

    def _on_theme(self) -> None:
        self._look = ChipLook.of(self._themes)
        self._measures = Measures(self._look)
        self._wish = self.chosen_place
        self._begin()

    # ------------------------------------------------------------------ painting

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._look.font)
        metrics = QFontMetricsF(self._look.font)
        rect = event.rect()
        for chip in self._layout.places_between(rect.top(), rect.bottom()):
            self._paint_chip(painter, metrics, chip)
        painter.end()

    def _paint_chip(self, painter: QPainter, metrics: QFontMetricsF, chip: int) -> None:
        look, place = self._look, self._shown[chip]
        token = self._tokens[place]
        box = self._layout.rect(chip).adjusted(0.5, 0.5, -0.5, -0.5)
        radius = box.height() / 2 if token.is_special else look.radius
        painter.setPen(self._pen(token, chip))
        painter.setBrush(look.ground(token, self._by))
        painter.drawRoundedRect(box, radius, radius)
        painter.setPen(look.words[token.origin is TokenOrigin.TEMPLATE])
        piece = self._measures.pieces[place]
        room = box.width() + 1 - 2 * look.pad
        if self._measures.widths[place] > box.width() + 1.5:
            piece = metrics.elidedText(piece, Qt.TextElideMode.ElideMiddle, room)
        base = box.center().y() + look.base
        painter.drawText(QPointF(box.left() - 0.5 + look.pad, base), piece)
        if chip == self._chosen and self._shows_ring:
            painter.setPen(look.ring)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(-2, -2, 2, 2), radius + 2, radius + 2)

    def _pen(self, token: InspectedToken, chip: int) -> QPen:
        look = self._look
        if chip == self._chosen:
            return look.chosen
        if chip == self._pointed:
            return look.pointed
        if token.is_special:
            return look.special
        return look.template if token.origin is TokenOrigin.TEMPLATE else look.line_pen

    # ------------------------------------------------------------------ choosing

    def _choose(self, chip: int) -> None:
        if chip == self._chosen:
            return
        self._chosen = chip
        name = tr("Tokens")
        if chip >= 0:
            name = read_out(self._tokens[self._shown[chip]])
        self.setAccessibleName(name)  # a screen reader says the new one
        self.update()
        self.chosen.emit(self.chosen_place)

    def _point(self, chip: int) -> None:
        if chip != self._pointed:
            self._pointed = chip
            self.update()
            self.pointed.emit(self._shown[chip] if chip >= 0 else -1)

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place = event.position()
        chip = self._layout.at(place.x(), place.y())
        self._point(-1 if chip is None else chip)
        super().mouseMoveEvent(event)

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self._point(-1)
        super().leaveEvent(event)

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = event.position()
        chip = self._layout.at(place.x(), place.y())
        if event.button() is Qt.MouseButton.LeftButton and chip is not None:
            self._choose(chip)
        super().mousePressEvent(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        chip = self._next(Qt.Key(event.key()))
        if chip is None:
            super().keyPressEvent(event)
        else:
            self._choose(chip)

    def _next(self, key: Qt.Key) -> int | None:
        """The chip that a key leads to; None for a key without a meaning here."""
        last = self._layout.num_chips - 1
        if last < 0:
            return None
        if key is Qt.Key.Key_Home or (self._chosen < 0 and key in _STEPS | _LINES):
            return 0
        if key is Qt.Key.Key_End:
            return last
        if key in _STEPS:
            return max(0, min(self._chosen + _STEPS[key], last))
        if key in _LINES:
            return self._layout.beside(self._chosen, _LINES[key])
        return -1 if key is Qt.Key.Key_Escape and self._chosen >= 0 else None

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        reasons = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        if event.reason() in reasons and self._chosen < 0 and self._layout.num_chips:
            self._choose(0)  # the focus is seen by the chip that has it
        self._shows_ring = True
        self.update()
        super().focusInEvent(event)

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._shows_ring = False
        self.update()
        super().focusOutEvent(event)
