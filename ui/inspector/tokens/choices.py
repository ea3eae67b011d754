"""The tokens that could have been chosen at one place, as bars; one of them can be picked.

Paints itself: a row each, with its piece, a bar for its probability, and the figure.
"""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from engine.api import TokenChoice
from ui.i18n import tr
from ui.inspector.tokens.pieces import percent, quoted, shown_piece
from ui.theme import SMALL_FONT_PX, ThemeSource

_ROW: Final = 22.0
_PIECE: Final = 0.38  # of the width, at most
_STEPS: Final = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}


class ChoiceList(QWidget):
    """``picked`` carries the row, or -1; ``taken`` asks to go on with the picked one."""

    picked = Signal(int)
    taken = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._choices: Sequence[TokenChoice] = ()
        self._present = -1
        self._picked = -1
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Other choices"))
        themes.changed.connect(self._on_theme)

    def set_choices(self, choices: Sequence[TokenChoice], token_id: int) -> None:
        """Show these, the one that was really chosen marked; none is picked."""
        self._choices = choices
        ids = [choice.token_id for choice in choices]
        self._present = ids.index(token_id) if token_id in ids else -1
        self._picked = -1
        self.setAccessibleName(tr("Other choices"))
        self.setAccessibleDescription(
            ", ".join(f"{quoted(choice)} {percent(choice.probability)}" for choice in choices)
        )
        self._on_theme()

    @property
    def picked_row(self) -> int:
        """The picked choice; -1 while none is."""
        return self._picked

    @override
    def sizeHint(self) -> QSize:
        return QSize(self._themes.px(220), round(len(self._choices) * self._row))

    @property
    def _row(self) -> float:
        return self._themes.px(_ROW)

    def _on_theme(self) -> None:
        self.updateGeometry()
        self.update()

    # ------------------------------------------------------------------ painting

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        code = self._themes.code_font(SMALL_FONT_PX)
        metrics = QFontMetricsF(code)
        widest = max(
            (metrics.horizontalAdvance(shown_piece(c)) for c in self._choices), default=0.0
        )
        room = min(widest + self._themes.px(14), self.width() * _PIECE)
        for row in range(len(self._choices)):
            painter.setFont(code)
            self._paint_row(painter, row, room)
        painter.end()

    def _paint_row(self, painter: QPainter, row: int, room: float) -> None:
        themes, choice = self._themes, self._choices[row]
        px = themes.px
        box = QRectF(0, row * self._row, self.width(), self._row).adjusted(1, 1, -1, -1)
        if row == self._picked:
            self._paint_picked(painter, box)
        metrics = QFontMetricsF(painter.font())
        base = box.center().y() + (metrics.ascent() - metrics.descent()) / 2
        piece = metrics.elidedText(shown_piece(choice), Qt.TextElideMode.ElideRight, room - px(10))
        painter.setPen(themes.color("muted" if choice.is_special else "text"))
        painter.drawText(QPointF(px(6), base), piece)
        small = themes.font(SMALL_FONT_PX)
        figures = QFontMetricsF(small)
        end = self.width() - px(20)  # behind it: the mark of what was really chosen
        left = room + px(4)
        length = end - figures.horizontalAdvance("<0.01%") - px(8) - left
        self._paint_bar(painter, QRectF(left, box.top(), max(0.0, length), box.height()), choice)
        painter.setFont(small)
        painter.setPen(themes.color("text"))
        figure = percent(choice.probability)
        painter.drawText(QPointF(end - figures.horizontalAdvance(figure), base), figure)
        if row == self._present:
            painter.setPen(themes.color("accent"))
            painter.drawText(QPointF(end + px(5), base), "✓")

    def _paint_picked(self, painter: QPainter, box: QRectF) -> None:
        is_focused, radius = self.hasFocus(), self._themes.px(4)
        color = self._themes.color("accent" if is_focused else "line")
        painter.setPen(QPen(color, 2 if is_focused else 1))
        painter.setBrush(self._themes.color("accent_soft"))
        painter.drawRoundedRect(box, radius, radius)

    def _paint_bar(self, painter: QPainter, box: QRectF, choice: TokenChoice) -> None:
        px = self._themes.px
        height = px(8)
        bar = QRectF(box.left(), box.center().y() - height / 2, box.width(), height)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._themes.color("track"))
        painter.drawRoundedRect(bar, px(2), px(2))
        bar.setWidth(max(1.0, bar.width() * choice.probability))
        painter.setBrush(self._themes.color("stage_prefill"))
        painter.drawRoundedRect(bar, px(2), px(2))

    # ------------------------------------------------------------------ picking

    def _pick(self, row: int) -> None:
        if row == self._picked:
            return
        self._picked = row
        choice = self._choices[row]
        words = f"{quoted(choice)} {percent(choice.probability)}"
        self.setAccessibleName(tr("Other choices: {choice}", choice=words))
        self.update()
        self.picked.emit(row)

    def _row_at(self, event: QMouseEvent) -> int:
        """The row under the pointer; -1 for none."""
        row = int(event.position().y() // self._row)
        is_left = event.button() is Qt.MouseButton.LeftButton
        return row if is_left and 0 <= row < len(self._choices) else -1

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if (row := self._row_at(event)) >= 0:
            self._pick(row)
        super().mousePressEvent(event)

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        row = self._row_at(event)
        if row >= 0 and row == self._picked:
            self.taken.emit()
        elif row >= 0:  # two quick clicks on two rows
            self._pick(row)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, last = Qt.Key(event.key()), len(self._choices) - 1
        if key in _STEPS and last >= 0:
            first = 0 if _STEPS[key] > 0 else last
            row = first if self._picked < 0 else self._picked + _STEPS[key]
            self._pick(max(0, min(row, last)))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._picked >= 0:
            self.taken.emit()
        else:
            super().keyPressEvent(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        reasons = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        if event.reason() in reasons and self._picked < 0 and self._choices:
            self._pick(0)
        self.update()
        super().focusInEvent(event)

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.update()
        super().focusOutEvent(event)
