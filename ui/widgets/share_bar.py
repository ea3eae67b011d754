"""A thin bar that is filled to a part, beside the words that say how far."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from ui.theme import ThemeSource

_HEIGHT = 5


class ShareBar(QWidget):
    """From 0 to 1 of its width. ``is_strong``: in the one strong colour."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._share = 0.0
        self._is_strong = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        themes.changed.connect(self.updateGeometry)

    @property
    def share(self) -> float:
        """How far it is filled."""
        return self._share

    def set_share(self, share: float, *, is_strong: bool = False) -> None:
        """Fill it to this part; beyond 1 it is full."""
        share = min(1.0, max(0.0, share))
        if (share, is_strong) != (self._share, self._is_strong):
            self._share, self._is_strong = share, is_strong
            self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(self._themes.px(120), self._themes.px(_HEIGHT))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(30), self._themes.px(_HEIGHT))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        radius = self.height() / 2
        box = QRectF(self.rect())
        painter.setBrush(self._themes.color("track"))
        painter.drawRoundedRect(box, radius, radius)
        if self._share > 0:
            box.setWidth(max(self.height(), box.width() * self._share))
            token = "accent" if self._is_strong else "stage_queue"
            painter.setBrush(self._themes.color(token))
            painter.drawRoundedRect(box, radius, radius)
        painter.end()
