"""What an answer shows beside its text: what it waits for, and how it failed."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton, QWidget
from typing_extensions import override

from ui.i18n import tr
from ui.icons import Icon, icon_pixmap
from ui.theme import BASE_FONT_PX, RADIUS_CARD, ThemeSource


class ProgressLine(QWidget):
    """What a pending answer waits for, with a bar where the share is known."""

    def __init__(self, look: ThemeSource, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self._text = ""
        self._share: float | None = None

    def show_state(self, text: str, share: float | None) -> None:
        """Show ``text``, and ``share`` (0 to 1) as a bar."""
        self._text, self._share = text, share
        self.setAccessibleName(text)
        self.update()

    def line_height(self) -> int:
        """Height of the line, bar included."""
        return self._look.px(32 if self._share is not None else 22)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(look.font(13))
        painter.setPen(look.color("muted"))
        line = look.px(22)
        painter.drawText(
            QRectF(0, 0, self.width(), line), Qt.AlignmentFlag.AlignVCenter, self._text
        )
        if self._share is not None:
            width, thick = min(look.px(260), self.width()), look.px(4)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.color("track"))
            painter.drawRoundedRect(QRectF(0, line + 3, width, thick), thick / 2, thick / 2)
            painter.setBrush(look.color("stage_prefill"))
            done = max(thick, width * min(1.0, self._share))
            painter.drawRoundedRect(QRectF(0, line + 3, done, thick), thick / 2, thick / 2)
        painter.end()


class FailureCard(QWidget):
    """A failure inside the message, with the way on."""

    def __init__(self, look: ThemeSource, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self._sentence = ""
        self._text_rect = QRectF()
        self.retry = QPushButton(tr("Try again"), self)

    def set_sentence(self, sentence: str) -> None:
        """Show the failure's one sentence."""
        self._sentence = sentence
        self.setAccessibleName(sentence)
        self.update()

    def height_for(self, width: int) -> int:
        """Place the sentence and the button; the height needed."""
        look = self._look
        pad, icon = look.px(12), look.px(24)
        button = self.retry.sizeHint()
        room = width - 3 * pad - icon - button.width()
        metrics = QFontMetrics(look.font(BASE_FONT_PX))
        flags = int(Qt.TextFlag.TextWordWrap.value)
        bounds = metrics.boundingRect(0, 0, room, 10_000, flags, self._sentence)
        height = max(bounds.height(), button.height()) + 2 * pad
        self._text_rect = QRectF(pad + icon, pad, room, height - 2 * pad)
        y = (height - button.height()) // 2
        self.retry.setGeometry(width - pad - button.width(), y, button.width(), button.height())
        return height

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(look.color("danger"), 1))
        painter.setBrush(look.color("surface"))
        radius = look.px(RADIUS_CARD)
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(frame, radius, radius)
        side = look.px(16)
        pixmap = icon_pixmap(Icon.WARNING, look.color("danger"), side, self.devicePixelRatioF())
        painter.drawPixmap(look.px(12), round((self.height() - side) / 2), pixmap)
        painter.setFont(look.font(BASE_FONT_PX))
        painter.setPen(look.color("text"))
        flags = Qt.TextFlag.TextWordWrap.value | Qt.AlignmentFlag.AlignVCenter.value
        painter.drawText(self._text_rect, flags, self._sentence)
        painter.end()
