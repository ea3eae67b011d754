"""Tokens as a flowing run of chips, painted by one widget.

Paints the lines that are exposed and no others; text and widths are reckoned once for a run.
Keeps which chip is chosen and which is pointed at; what that means is its owner's to say.
"""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
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
from ui.inspector.tokens.pieces import ends_line, read_out, shown_piece
from ui.inspector.tokens.tint import STEPS, TintBy, doubt, ramp
from ui.theme import SMALL_FONT_PX, ThemeSource

_FONT: Final = SMALL_FONT_PX + 1
_PAD: Final = 4.0
_GAP: Final = 3.0
_LINE: Final = 24.0
_RADIUS: Final = 3.0
_PAGE: Final = 8  # lines
# what stands behind the tokens of a message; None: only an outline
_GROUNDS: Final = {
    TokenOrigin.SYSTEM: "code",
    TokenOrigin.USER: "bubble",
    TokenOrigin.ASSISTANT: "code",
    TokenOrigin.ANSWER: "surface",
}
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

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._tokens: Sequence[InspectedToken] = ()
        self._shown: Sequence[int] = ()  # places of the tokens that have a chip
        self._pieces: list[str] = []
        self._layout = ChipLayout(_GAP, _LINE)
        self._by = TintBy.PROBABILITY
        self._colors = ramp(themes)
        self._chosen = -1  # these two count chips
        self._pointed = -1
        self._shows_ring = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Tokens"))
        themes.changed.connect(self._on_theme)

    # ------------------------------------------------------------------ what it is told

    def set_tokens(self, tokens: Sequence[InspectedToken], shown: Sequence[int]) -> None:
        """Show the tokens at the places ``shown``; a chosen one stays where it is among them."""
        chosen = self.chosen_place if tokens is self._tokens else -1
        self._tokens, self._shown = tokens, shown
        self._pieces = [shown_piece(tokens[place]) for place in shown]
        self._chosen, self._pointed = -1, -1
        self._measure()
        self._choose(shown.index(chosen) if chosen in shown else -1)

    def set_tint(self, by: TintBy) -> None:
        """What the tint of the answer's tokens shows."""
        self._by = by
        self.update()

    @property
    def chosen_place(self) -> int:
        """The chosen token's place; -1 while none is."""
        return self._shown[self._chosen] if self._chosen >= 0 else -1

    def choose(self, place: int) -> None:
        """Choose the token at a place, if it has a chip."""
        self._choose(self._shown.index(place) if place in self._shown else -1)

    def rect_of(self, place: int) -> QRectF:
        """Where a token's chip stands; empty for one without."""
        return self._layout.rect(self._shown.index(place)) if place in self._shown else QRectF()

    # ------------------------------------------------------------------ layout

    def _measure(self) -> None:
        themes = self._themes
        metrics = QFontMetricsF(themes.code_font(_FONT))
        known: dict[str, float] = {}
        for piece in self._pieces:
            if piece not in known:
                known[piece] = metrics.horizontalAdvance(piece) + 2 * themes.px(_PAD)
        self._layout = ChipLayout(themes.px(_GAP), themes.px(_LINE))
        self._layout.set_room(self.width())
        self._layout.set_chips(
            [known[piece] for piece in self._pieces],
            [ends_line(self._tokens[place]) for place in self._shown],
        )
        self._fit()

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
        self._colors = ramp(self._themes)
        self._measure()

    # ------------------------------------------------------------------ painting

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._themes.code_font(_FONT))
        metrics = QFontMetricsF(painter.font())
        rect = event.rect()
        for chip in self._layout.places_between(rect.top(), rect.bottom()):
            self._paint_chip(painter, metrics, chip)
        painter.end()

    def _paint_chip(self, painter: QPainter, metrics: QFontMetricsF, chip: int) -> None:
        themes, token = self._themes, self._tokens[self._shown[chip]]
        box = self._layout.rect(chip).adjusted(0.5, 0.5, -0.5, -0.5)
        radius = box.height() / 2 if token.is_special else themes.px(_RADIUS)
        ground = self._ground(token)
        is_template = token.origin is TokenOrigin.TEMPLATE
        pen = QPen(themes.color("line"), 1)
        if token.is_special:
            pen = QPen(themes.color("muted"), 1)
        elif is_template:
            pen.setStyle(Qt.PenStyle.DotLine)
            pen.setColor(themes.color("muted"))
        if chip == self._chosen:
            pen = QPen(themes.color("accent"), 2)
        elif chip == self._pointed:
            pen = QPen(themes.color("text"), 1)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush if ground is None else ground)
        painter.drawRoundedRect(box, radius, radius)
        painter.setPen(themes.color("muted" if is_template else "text"))
        pad = themes.px(_PAD)
        piece = self._pieces[chip]
        room = box.width() + 1 - 2 * pad
        if metrics.horizontalAdvance(piece) > room + 0.5:
            piece = metrics.elidedText(piece, Qt.TextElideMode.ElideMiddle, room)
        base = box.center().y() + (metrics.ascent() - metrics.descent()) / 2
        painter.drawText(QPointF(box.left() - 0.5 + pad, base), piece)
        if chip == self._chosen and self._shows_ring:
            painter.setPen(QPen(themes.color("accent"), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(-2, -2, 2, 2), radius + 2, radius + 2)

    def _ground(self, token: InspectedToken) -> QColor | None:
        strength = doubt(token, self._by)
        if strength is not None:
            return self._colors[round(strength * STEPS)]
        name = _GROUNDS.get(token.origin)
        return None if name is None else self._themes.color(name)

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
