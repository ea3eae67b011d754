"""The reasoning before an answer: one quiet line that opens into its text.

While it streams the line shows the newest words; afterwards how long it took. Knows no engine.
"""

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QEnterEvent, QFontMetrics, QGuiApplication, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget
from typing_extensions import override

from ui.chat.rows import Reasoning
from ui.chat.stats_line import SEPARATOR, duration
from ui.i18n import tr, tr_n
from ui.icons import Icon, icon_pixmap
from ui.richtext.plain_view import PlainView
from ui.theme import RADIUS_CONTROL, ThemeSource
from ui.widgets.text_button import TextButton

_LINE = 28
_FONT = 13
_COPIED_MS = 1_500
_PREVIEW_CHARACTERS = 300
_PREVIEW_LEAST = 80


class ThoughtLine(QAbstractButton):
    """The line itself: a button that folds and unfolds."""

    painted = Signal()

    def __init__(self, look: ThemeSource, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self._preview = ""
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_words(self, words: str, preview: str) -> None:
        """Show what there is to say, and the newest words beside it."""
        self._preview = preview
        self.setText(words)
        state = tr("shown") if self.isChecked() else tr("folded")
        self.setAccessibleName(f"{words}, {state}")
        self.update()

    @property
    def preview(self) -> str:
        """The newest words."""
        return self._preview

    @override
    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._look.font(_FONT))
        width = metrics.horizontalAdvance(self.text()) + self._look.px(36)
        return QSize(width, self._look.px(_LINE))

    @override
    def enterEvent(self, event: QEnterEvent) -> None:
        self.update()
        super().enterEvent(event)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = look.color("text" if self.underMouse() else "muted")
        side, gap = look.px(14), look.px(6)
        icon = Icon.CHEVRON_DOWN if self.isChecked() else Icon.CHEVRON_RIGHT
        pixmap = icon_pixmap(icon, color, side, self.devicePixelRatioF())
        painter.drawPixmap(0, (self.height() - side) // 2, pixmap)
        font = look.font(_FONT)
        metrics = QFontMetrics(font)
        painter.setFont(font)
        painter.setPen(color)
        left = side + gap
        room = QRectF(left, 0, self.width() - left - gap, self.height())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, self.text())
        left += metrics.horizontalAdvance(self.text()) + 2 * gap
        room = QRectF(left, 0, self.width() - left - gap, self.height())
        if self._preview and room.width() > look.px(_PREVIEW_LEAST):
            painter.setOpacity(0.75)
            newest = metrics.elidedText(
                self._preview, Qt.TextElideMode.ElideLeft, int(room.width())
            )
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, newest)
            painter.setOpacity(1)
        if self.hasFocus():
            painter.setPen(QPen(look.color("accent"), 2))
            radius = look.px(RADIUS_CONTROL - 2)
            frame = QRectF(self.rect()).adjusted(1, 1, -1, -1)
            painter.drawRoundedRect(frame, radius, radius)
        painter.end()
        if self.text():
            self.painted.emit()


class ThoughtBlock(QWidget):
    """The line, and below it the text while it is open. Folded at first."""

    height_changed = Signal()
    selection_changed = Signal()
    painted = Signal()

    def __init__(self, look: ThemeSource, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self._reasoning: Reasoning | None = None
        self._is_live = False
        self._shown = ""
        self.line = ThoughtLine(look, self)
        self.line.toggled.connect(self._on_toggled)
        self.line.painted.connect(self.painted)
        self.text = PlainView(look, self, color="muted")
        self.text.setAccessibleName(tr("Reasoning"))
        self.text.selectionChanged.connect(self.selection_changed)
        self.text.hide()
        self._copied = QTimer(self)
        self._copied.setObjectName("reasoning-copied")
        self._copied.setSingleShot(True)
        self._copied.setInterval(_COPIED_MS)
        self._copied.timeout.connect(self._restore_copy)
        self.copy = TextButton(look, "", Icon.COPY, self)
        self.copy.setAccessibleName(tr("Copy the reasoning"))
        self.copy.setToolTip(tr("Copy the reasoning"))
        self.copy.clicked.connect(self._copy_text)
        self.copy.hide()
        self.hide()

    @property
    def is_open(self) -> bool:
        """Whether the text is shown."""
        return self.line.isChecked()

    def set_open(self, *, is_open: bool) -> None:
        """Show the text or fold it away."""
        self.line.setChecked(is_open)

    def show_reasoning(self, reasoning: Reasoning | None, *, is_live: bool) -> None:
        """Show a reasoning, none, or a longer one while it comes."""
        self._reasoning, self._is_live = reasoning, is_live
        self.setVisible(reasoning is not None)
        self._show()

    def has_selection(self) -> bool:
        """Whether the reader has marked something."""
        return self.text.has_selection()

    def tab_stops(self) -> list[QWidget]:
        """What the Tab key visits."""
        return [] if self.isHidden() else [self.line, self.copy]

    def height_for(self, width: int) -> int:
        """Place everything for a width and return the height needed."""
        look, line = self._look, self._look.px(_LINE)
        if not self.is_open:
            self.line.setGeometry(0, 0, width, line)
            return line
        copy = self.copy.sizeHint()
        self.line.setGeometry(0, 0, width - copy.width(), line)
        self.copy.setGeometry(width - copy.width(), 1, copy.width(), copy.height())
        left = look.px(20)
        height = self.text.height_for(width - left)
        self.text.setGeometry(left, line + look.px(2), width - left, height)
        return line + height + look.px(12)

    def _show(self) -> None:
        reasoning = self._reasoning
        if reasoning is None:
            return
        count = tr_n("{n} token", "{n} tokens", reasoning.num_tokens)
        if self._is_live:
            words = tr("Thinking…")
        elif reasoning.duration_ns > 0:
            words = tr("Thought for {time}", time=duration(reasoning.duration_ns))
        else:
            words = tr("Thought")
        if reasoning.num_tokens:
            words += SEPARATOR + count
        preview = ""
        if self._is_live and not self.is_open:
            preview = " ".join(reasoning.text[-_PREVIEW_CHARACTERS:].split())
        self.line.show_words(words, preview)
        if self.is_open:
            self._show_text(reasoning.text)

    def _show_text(self, text: str) -> None:
        if self._shown and text.startswith(self._shown):
            self.text.append_plain(text[len(self._shown) :])
        elif text != self._shown:
            self.text.set_plain(text)
        self._shown = text

    def _on_toggled(self, is_open: bool) -> None:  # noqa: FBT001 - the signal's
        self.text.setVisible(is_open)
        self.copy.setVisible(is_open)
        self._show()
        self.height_changed.emit()

    def _copy_text(self) -> None:
        if self._reasoning is not None:
            QGuiApplication.clipboard().setText(self._reasoning.text)
            self.copy.set_face("", Icon.CHECK)
            self._copied.start()

    def _restore_copy(self) -> None:
        self.copy.set_face("", Icon.COPY)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        if self.is_open:
            look = self._look
            painter = QPainter(self)
            bar = QRectF(look.px(6), look.px(_LINE + 2), look.px(2), self.text.height())
            painter.fillRect(bar, look.color("line"))
            painter.end()
