"""Where a message is written: text field, token count, and one button that sends or stops."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QAbstractButton,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from ui.chat.input_box import InputBox
from ui.chat.token_count import ContextUse, count_words
from ui.i18n import tr
from ui.icons import Icon, icon_pixmap
from ui.theme import RADIUS_COMPOSER, RADIUS_CONTROL, ThemeSource, set_look
from ui.widgets.throttle import Debounce

DRAFT_PAUSE_MS = 500
COUNT_PAUSE_MS = 150
_SHADOW = 10
_SHADOW_ABOVE = 4  # it falls downwards; what stands above it is not covered by it


class SendButton(QAbstractButton):
    """An arrow up to send, a square to stop."""

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.is_stop = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.set_stop(is_stop=False)

    def set_stop(self, *, is_stop: bool) -> None:
        """Turn into Stop, or back into Send."""
        self.is_stop = is_stop
        name = tr("Stop (Esc)") if is_stop else tr("Send (Enter)")
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(self._look.px(45), self._look.px(34))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(self.rect())
        radius = look.px(RADIUS_CONTROL)
        ground = look.color("accent" if self.isEnabled() else "track")
        if self.isDown() or (self.underMouse() and self.isEnabled()):
            ground = ground.darker(112)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ground)
        painter.drawRoundedRect(frame, radius, radius)
        if self.hasFocus():
            painter.setPen(QPen(look.color("text"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(frame.adjusted(1, 1, -1, -1), radius, radius)
        side = look.px(16)
        color = look.color("on_accent" if self.isEnabled() else "muted")
        icon = Icon.STOP if self.is_stop else Icon.ARROW_UP
        pixmap = icon_pixmap(icon, color, side, self.devicePixelRatioF())
        painter.drawPixmap(QPointF((self.width() - side) / 2, (self.height() - side) / 2), pixmap)
        painter.end()


class Composer(QWidget):
    """Signals carry the text; the page decides what a text is for."""

    submitted = Signal(str)
    stop_requested = Signal()
    draft_changed = Signal(str)
    count_requested = Signal(str)
    edit_wanted = Signal()
    edit_cancelled = Signal()

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._count: int | None = None
        self._use = ContextUse()
        self._is_generating = False
        self._is_editing = False
        self._is_enabled = True
        self._is_loading_text = False
        self._is_told_to_wait = False
        self.input = InputBox(look, self)
        self.input.setAccessibleName(tr("Message"))
        self.count = QLabel(self)
        self.count.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.send = SendButton(look, self)
        self._editing = QLabel(
            tr("Editing an earlier message \u2014 Esc leaves it as it was"), self
        )
        set_look(self._editing, "small")
        self._cancel = QPushButton(tr("Cancel"), self)
        set_look(self._cancel, "quiet")
        self._draft = Debounce("composer-draft", self._report_draft, DRAFT_PAUSE_MS, self)
        self._counter = Debounce("composer-count", self._report_count, COUNT_PAUSE_MS, self)
        self._build()
        self.input.textChanged.connect(self._text_changed)
        self.input.submitted.connect(self._submit)
        self.input.escaped.connect(self._escape)
        self.input.recalled.connect(self.edit_wanted)
        self.input.focus_changed.connect(self.update)
        self.send.clicked.connect(self._press)
        self._cancel.clicked.connect(self.edit_cancelled)
        look.changed.connect(self._dress)
        self._dress()
        self.set_enabled(is_enabled=True, placeholder="")

    def _build(self) -> None:
        self._banner = QWidget(self)
        banner = QHBoxLayout(self._banner)
        banner.setContentsMargins(0, 0, 0, 0)
        banner.addWidget(self._editing, 1)
        banner.addWidget(self._cancel)
        self._banner.hide()
        self._foot = QHBoxLayout()
        self._foot.addWidget(self.count, 1)
        self._foot.addWidget(self.send)
        self._box = QVBoxLayout(self)
        self._box.addWidget(self._banner)
        self._box.addWidget(self.input)
        self._box.addLayout(self._foot)

    def _dress(self) -> None:
        look = self._look
        edge, side = look.px(_SHADOW), look.px(16)
        self._box.setContentsMargins(
            edge + side,
            look.px(_SHADOW_ABOVE) + look.px(13),
            edge + look.px(12),
            edge + look.px(10),
        )
        self._box.setSpacing(look.px(8))
        self.send.setFixedSize(self.send.sizeHint())
        self._show_count()

    @property
    def side_margin(self) -> int:
        """Room beside the frame that the shadow needs, in px."""
        return self._look.px(_SHADOW)

    def text(self) -> str:
        """What is written."""
        return self.input.text()

    def set_text(self, text: str) -> None:
        """Show a draft without reporting it as a change."""
        self._is_loading_text = True
        self.input.set_text(text)
        self._is_loading_text = False
        self._draft.cancel()
        self._counter.call()

    def flush_draft(self) -> None:
        """Report a draft that still waits for its pause."""
        self._draft.flush()

    def set_generating(self, *, is_generating: bool) -> None:
        """Turn Send into Stop, or back."""
        self._is_generating = is_generating
        self._tell_to_wait(is_told=False)
        self.send.set_stop(is_stop=is_generating)
        self._refresh_send()

    def set_editing(self, *, is_editing: bool) -> None:
        """Show that the text replaces an earlier message."""
        self._is_editing = is_editing
        self._banner.setVisible(is_editing)

    def set_enabled(self, *, is_enabled: bool, placeholder: str) -> None:
        """Allow writing; an empty placeholder is the usual one."""
        usual = tr("Message \u2014 Enter to send, Shift+Enter for a new line")
        self._is_enabled = is_enabled
        self.input.set_placeholder(placeholder or usual)
        self.input.setEnabled(is_enabled)
        self._refresh_send()

    def set_count(self, count: int | None, use: ContextUse) -> None:
        """Take the engine's count of the present text (None: not known), and what it meets."""
        self._count, self._use = count, use
        self._show_count()

    def _tell_to_wait(self, *, is_told: bool) -> None:
        self._is_told_to_wait = is_told
        self._show_count()

    def _show_count(self) -> None:
        if self._is_told_to_wait:
            self.count.setText(tr("The answer is still being written \u2014 Esc stops it"))
            set_look(self.count, "small")
            return
        text = self.text()
        words = count_words(text, self._count if text else 0, self._use)
        self.count.setText(words.text)
        self.count.setToolTip(words.text if words.is_warning or words.is_notice else "")
        set_look(self.count, "danger-small" if words.is_warning else "small")

    def _text_changed(self) -> None:
        self._count = None
        self._tell_to_wait(is_told=False)
        self._refresh_send()
        if not self._is_loading_text:
            if not self._is_editing:
                self._draft.call()
            self._counter.call()

    def _refresh_send(self) -> None:
        has_text = bool(self.text().strip())
        is_of_use = self._is_generating or (self._is_enabled and has_text)
        if self.send.hasFocus() and not is_of_use:
            self.input.setFocus()  # or Qt gives the keyboard to whatever comes next
        self.send.setEnabled(is_of_use)

    def _report_draft(self) -> None:
        self.draft_changed.emit(self.text())

    def _report_count(self) -> None:
        self.count_requested.emit(self.text())

    def _press(self) -> None:
        if self._is_generating:
            self.stop_requested.emit()
        else:
            self._submit()

    def _submit(self) -> None:
        text = self.text().strip()
        if text and self._is_generating:
            self._tell_to_wait(is_told=True)
        elif text and self._is_enabled:
            self._draft.cancel()
            self.submitted.emit(text)

    def _escape(self) -> None:
        if self._is_generating:
            self.stop_requested.emit()
        elif self._is_editing:
            self.edit_cancelled.emit()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        edge, radius = look.px(_SHADOW), look.px(RADIUS_COMPOSER)
        above = look.px(_SHADOW_ABOVE)
        frame = QRectF(self.rect()).adjusted(edge + 0.5, above + 0.5, -edge - 0.5, -edge - 0.5)
        painter.setPen(Qt.PenStyle.NoPen)
        for ring in range(_SHADOW, 0, -1):
            painter.setBrush(QColor(0, 0, 0, 1 + (_SHADOW - ring) // 4))
            spread = edge * ring / _SHADOW
            soft = frame.adjusted(-spread, -spread, spread, spread).translated(0, edge / 4)
            painter.drawRoundedRect(soft, radius + spread, radius + spread)
        has_focus = self.input.hasFocus()
        painter.setPen(QPen(look.color("accent" if has_focus else "line"), 1))
        painter.setBrush(look.color("surface"))
        painter.drawRoundedRect(frame, radius, radius)
        painter.end()
