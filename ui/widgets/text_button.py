"""Small buttons that paint themselves from the theme: an icon, a word, or both.

Cheaper than a styled QPushButton, which matters where every message has a row of them.
"""

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QEnterEvent, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget
from typing_extensions import override

from ui.icons import Icon, icon_pixmap
from ui.theme import RADIUS_CONTROL, SMALL_FONT_PX, ThemeSource

_ICON = 16
_SIDE = 26
_GAP = 6


class TextButton(QAbstractButton):
    """``is_revealed`` False paints nothing unless hovered or focused; it stays reachable."""

    def __init__(
        self, look: ThemeSource, text: str, icon: Icon | None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._face = icon
        self._is_revealed = True
        self.setText(text)
        self.setAccessibleName(text)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def set_face(self, text: str, icon: Icon | None) -> None:
        """Change word and icon; the accessible name stays."""
        self._face = icon
        self.setText(text)
        self.update()

    def set_revealed(self, *, is_revealed: bool) -> None:
        """Show or hide the paint of a button that waits for the pointer."""
        if is_revealed != self._is_revealed:
            self._is_revealed = is_revealed
            self.update()

    @override
    def sizeHint(self) -> QSize:
        look = self._look
        width = look.px(_SIDE) if self._face else look.px(2 * _GAP)
        if self.text():
            metrics = QFontMetrics(look.font(SMALL_FONT_PX))
            width += metrics.horizontalAdvance(self.text()) + (look.px(2) if self._face else 0)
        return QSize(width, look.px(_SIDE))

    @override
    def enterEvent(self, event: QEnterEvent) -> None:
        self.update()
        super().enterEvent(event)

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self.update()
        super().leaveEvent(event)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        is_hot = self.underMouse() and self.isEnabled()
        if not (self._is_revealed or is_hot or self.hasFocus() or self.isChecked()):
            return
        look = self._look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        radius = min(look.px(RADIUS_CONTROL - 2), frame.height() / 2)
        is_on = self.isDown() or self.isChecked()
        if is_hot or is_on:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.color("accent_soft" if is_on else "hover"))
            painter.drawRoundedRect(frame, radius, radius)
        if self.hasFocus():
            painter.setPen(QPen(look.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(frame, radius, radius)
        self._paint_face(painter, is_hot=is_hot)
        painter.end()

    def _paint_face(self, painter: QPainter, *, is_hot: bool) -> None:
        look = self._look
        color = look.color("text" if is_hot else "accent" if self.isChecked() else "muted")
        if not self.isEnabled():
            color.setAlphaF(0.45)
        x = float(look.px(_GAP))
        if self._face is not None:
            side = look.px(_ICON if not self.text() else _ICON - 2)
            pixmap = icon_pixmap(self._face, color, side, self.devicePixelRatioF())
            painter.drawPixmap(QPointF(x, (self.height() - side) / 2), pixmap)
            x += side + look.px(_GAP - 2)
        if self.text():
            painter.setFont(look.font(SMALL_FONT_PX))
            painter.setPen(color)
            room = QRectF(x, 0, self.width() - x, self.height())
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, self.text())
