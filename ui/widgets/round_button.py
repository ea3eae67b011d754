"""A small round floating button."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget
from typing_extensions import override

from ui.icons import Icon, icon_pixmap
from ui.theme import ThemeSource

_SIDE = 36
_BELOW = 12
_ICON = 16


class RoundButton(QAbstractButton):
    """An arrow down in a circle."""

    def __init__(self, look: ThemeSource, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def stand_in(self, width: int, height: int) -> None:
        """Take the middle of the lower edge of a place so large, above whatever is there."""
        side = self.sizeHint().width()
        top = height - side - self._look.px(_BELOW)
        self.setGeometry((width - side) // 2, top, side, side)
        self.raise_()

    @override
    def sizeHint(self) -> QSize:
        side = self._look.px(_SIDE)
        return QSize(side, side)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_focused = self.hasFocus()
        painter.setPen(
            QPen(look.color("accent" if is_focused else "line"), 2 if is_focused else 1)
        )
        painter.setBrush(look.color("hover" if self.underMouse() else "surface"))
        painter.drawEllipse(QRectF(self.rect()).adjusted(1, 1, -1, -1))
        side = look.px(_ICON)
        pixmap = icon_pixmap(Icon.ARROW_DOWN, look.color("text"), side, self.devicePixelRatioF())
        corner = QPointF((self.width() - side) / 2, (self.height() - side) / 2)
        painter.drawPixmap(corner, pixmap)
        painter.end()
