"""Small grey words that change often without anything around them being laid out again.

A label would have its whole column measured at each change; this asks for that only when it needs
more lines, or fewer.
"""

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from ui.theme import SMALL_FONT_PX, ThemeSource

_FLAGS = int(Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
_NARROWEST = 80


class SteadyText(QWidget):
    """Wraps its words; they are its name for who cannot see them."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._text = ""
        self._known: tuple[int, int] | None = None  # the height for the width asked for last
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        themes.changed.connect(self._on_theme)

    def text(self) -> str:
        """The words."""
        return self._text

    def setText(self, text: str) -> None:  # noqa: N802 - as a label's
        """Show these words."""
        if text == self._text:
            return
        old = self._height(self.width())
        self._text, self._known = text, None
        self.setAccessibleName(text)
        if self._height(self.width()) != old:
            self.updateGeometry()
        self.update()

    def clear(self) -> None:
        """Show none."""
        self.setText("")

    def _height(self, width: int) -> int:
        if self._known is None or self._known[0] != width:
            metrics = QFontMetrics(self._themes.font(SMALL_FONT_PX))
            room = QRect(0, 0, width, 10_000)
            self._known = width, metrics.boundingRect(room, _FLAGS, self._text).height()
        return self._known[1]

    def _on_theme(self) -> None:
        self._known = None
        self.updateGeometry()

    @override
    def heightForWidth(self, arg__1: int) -> int:
        return self._height(arg__1)

    @override
    def sizeHint(self) -> QSize:
        width = max(self.width(), self._themes.px(200))
        return QSize(width, self.heightForWidth(width))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(_NARROWEST), 0)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(self._themes.font(SMALL_FONT_PX))
        painter.setPen(self._themes.color("muted"))
        painter.drawText(self.rect(), _FLAGS, self._text)
        painter.end()
