"""The text field of the composer: plain text, Enter sends, one to ten lines high.

Enter that belongs to an input method (choosing or committing a word) never sends.
"""

from PySide6.QtCore import QMimeData, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetrics,
    QInputMethodEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QTextBlockFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextEdit, QWidget
from typing_extensions import override

from ui.theme import BASE_FONT_PX, LINE_HEIGHT, ThemeSource

MAX_LINES = 10
# some input methods commit a word and then deliver the same Enter once more
AFTER_COMMIT_MS = 30
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class InputBox(QTextEdit):
    """``submitted`` on Enter, ``recalled`` on Up in an empty box, ``escaped`` on Esc."""

    submitted = Signal()
    recalled = Signal()
    escaped = Signal()
    height_changed = Signal()
    focus_changed = Signal()

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._is_composing = False
        self._height = 0
        self._placeholder = ""
        self._after_commit = QTimer(self)
        self._after_commit.setObjectName("input-after-commit")
        self._after_commit.setSingleShot(True)
        self._after_commit.setInterval(AFTER_COMMIT_MS)
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(0)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        look.changed.connect(self.dress)
        self.dress()

    @property
    def is_composing(self) -> bool:
        """Whether an input method is building a word."""
        return self._is_composing

    def dress(self) -> None:
        """Take font and line height from the theme."""
        self.setFont(self._look.font())
        line = QTextBlockFormat()
        line.setLineHeight(self._line(), QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.mergeBlockFormat(line)
        self._fit()

    def set_text(self, text: str) -> None:
        """Replace the text; the cursor goes to its end."""
        cursor = self.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        self.setTextCursor(cursor)

    def set_placeholder(self, text: str) -> None:
        """Show ``text`` while the box is empty, shortened to its width."""
        self._placeholder = text
        self.setAccessibleDescription(text)
        self.viewport().update()

    @property
    def placeholder(self) -> str:
        """What stands in the empty box."""
        return self._placeholder

    def text(self) -> str:
        """The text as it will be sent."""
        return self.toPlainText()

    def _line(self) -> int:
        return round(BASE_FONT_PX * LINE_HEIGHT * self._look.zoom)

    def _fit(self) -> None:
        content = max(self._line(), round(self.document().size().height()))
        most = MAX_LINES * self._line()
        is_over = content > most
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if is_over else policy.ScrollBarAlwaysOff
        )
        height = min(content, most) + 2
        if height != self._height:
            self._height = height
            self.setFixedHeight(height)
            self.height_changed.emit()

    @override
    def paintEvent(self, e: QPaintEvent) -> None:
        super().paintEvent(e)
        if self._placeholder and self.document().isEmpty() and not self._is_composing:
            self._paint_placeholder()

    def _paint_placeholder(self) -> None:
        # Qt's own stands above the line that is typed, and keeps its size when the zoom changes
        font, place = self._look.font(), self.cursorRect()
        place.setRight(self.viewport().width() - 4)
        metrics = QFontMetrics(font)
        text = metrics.elidedText(self._placeholder, Qt.TextElideMode.ElideRight, place.width())
        painter = QPainter(self.viewport())
        painter.setFont(font)
        painter.setPen(self._look.color("muted"))
        # the room of a tall line is above its text
        painter.drawText(place.left(), place.bottom() + 1 - metrics.descent(), text)
        painter.end()

    @override
    def sizeHint(self) -> QSize:
        return QSize(200, self._height)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(80, self._height)

    @override
    def insertFromMimeData(self, source: QMimeData) -> None:
        if source.hasText():
            self.insertPlainText(source.text())

    @override
    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasText()

    @override
    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._is_composing = bool(event.preeditString())
        if event.commitString():
            self._after_commit.start()
        super().inputMethodEvent(event)

    @override
    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        self._after_commit.stop()
        super().keyReleaseEvent(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = event.key(), event.modifiers()
        is_plain = not modifiers & ~Qt.KeyboardModifier.KeypadModifier
        if key in _ENTER and not modifiers & Qt.KeyboardModifier.ShiftModifier:
            self._enter()
        elif key == Qt.Key.Key_Escape and not self._is_composing:
            self.escaped.emit()
        elif key == Qt.Key.Key_Up and is_plain and not self.text() and not self._is_composing:
            self.recalled.emit()
        else:
            super().keyPressEvent(event)

    def _enter(self) -> None:
        if self._after_commit.isActive():
            self._after_commit.stop()
        elif not self._is_composing:
            self.submitted.emit()

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit()

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._is_composing = False
        super().focusOutEvent(event)
        self.focus_changed.emit()
