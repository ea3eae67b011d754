"""A code block: language and Copy above, code that scrolls sideways below."""

from PySide6.QtCore import QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFont,
    QGuiApplication,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QTextEdit, QWidget
from typing_extensions import override

from ui.i18n import tr
from ui.icons import Icon
from ui.richtext.blocks import Code
from ui.richtext.code_colors import CodeColors
from ui.richtext.highlight import Highlighter
from ui.richtext.still_text import StillText
from ui.theme import CODE_FONT_PX, RADIUS_CARD, SMALL_FONT_PX, ThemeSource
from ui.widgets.text_button import TextButton

_HEADER = 26
_PADDING = 12
_LINE = 21
_LIFT = 3
_COPIED_MS = 1_500


class CodeView(QWidget):
    """Shows one code block; while it is open, text is only ever added at its end."""

    height_changed = Signal()

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._block = Code("", is_open=True)
        self.code = StillText(look, self)
        self.code.setLineWrapMode(QTextEdit.LineWrapMode.NoWrap)
        self.code.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.code.setAccessibleName(tr("Code"))
        self._copy = TextButton(look, tr("Copy"), Icon.COPY, self)
        self._copy.setAccessibleName(tr("Copy this code"))
        self._copy.clicked.connect(self._copy_code)
        self._copied = QTimer(self)
        self._copied.setObjectName("code-copied")
        self._copied.setSingleShot(True)
        self._copied.timeout.connect(self._restore_copy)
        self._highlighter = Highlighter(self.code.document(), self)
        self._line = QTextBlockFormat()
        self._line.setLineHeight(
            look.px(_LINE), QTextBlockFormat.LineHeightTypes.FixedHeight.value
        )
        self._char = QTextCharFormat()
        self._char.setFont(look.code_font(CODE_FONT_PX))
        self._char.setForeground(look.color("text"))
        QTextCursor(self.code.document()).setBlockFormat(self._line)
        QTextCursor(self.code.document()).setBlockCharFormat(self._char)

    @property
    def block(self) -> Code:
        """What is shown."""
        return self._block

    def set_code(self, block: Code) -> None:
        """Show ``block``; a text that continues the present one is added, not laid out anew."""
        if block == self._block:
            return
        cursor = QTextCursor(self.code.document())
        cursor.beginEditBlock()
        cursor.movePosition(QTextCursor.MoveOperation.End)
        known = len(self._block.text)
        if not block.text.startswith(self._block.text):
            cursor.select(QTextCursor.SelectionType.Document)
            known = 0
        cursor.insertText(block.text[known:], self._char)
        cursor.endEditBlock()
        self.code.rest_caret()
        self._block = block
        self.update()
        if not block.is_open:
            colors = CodeColors(self._look.theme.name)
            self._highlighter.start(block.text, block.language, colors)

    def tab_stops(self) -> list[QWidget]:
        """The Copy button."""
        return [self._copy]

    def height_for(self, width: int) -> int:
        """Height of header, lines and, where the code is wider, the sideways scroll bar."""
        look = self._look
        lines = max(1, self.code.document().blockCount())
        body = lines * look.px(_LINE) + 2 * look.px(_PADDING)
        room = width - 2 * look.px(_PADDING)
        if self.code.document().idealWidth() > room:
            body += self.code.horizontalScrollBar().sizeHint().height()
        return look.px(_HEADER) + body

    def _copy_code(self) -> None:
        QGuiApplication.clipboard().setText(self._block.text)
        self._copy.set_face(tr("Copied"), Icon.CHECK)
        self._copied.start(_COPIED_MS)
        self._place_copy()

    def _restore_copy(self) -> None:
        self._copy.set_face(tr("Copy"), Icon.COPY)
        self._place_copy()

    def _place_copy(self) -> None:
        header = self._look.px(_HEADER)
        hint = self._copy.sizeHint()
        x = self.width() - hint.width() - self._look.px(6)
        self._copy.setGeometry(QRect(x, 1, hint.width(), header - 1))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        look = self._look
        header, padding = look.px(_HEADER), look.px(_PADDING)
        # the face's leading stands above each line
        top = header + padding - look.px(_LIFT)
        # the scroll bar stands in the lower padding
        height = self.height() - top - 2
        self.code.setGeometry(padding + 2, top, self.width() - 2 * padding - 2, height)
        self._place_copy()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = QPainterPath()
        radius = look.px(RADIUS_CARD)
        outline.addRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)
        painter.fillPath(outline, look.color("code"))
        painter.setPen(QPen(look.color("line"), 1))
        painter.drawPath(outline)
        header = look.px(_HEADER)
        painter.drawLine(1, header, self.width() - 2, header)
        painter.setFont(look.font(SMALL_FONT_PX, QFont.Weight.Normal))
        painter.setPen(look.color("muted"))
        name = QRect(look.px(_PADDING), 1, self.width() // 2, header - 1)
        painter.drawText(name, Qt.AlignmentFlag.AlignVCenter, self._block.language or tr("code"))
        painter.end()
