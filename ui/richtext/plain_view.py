"""Plain text as it was typed, line breaks and spaces kept, with the page's line height."""

import math

from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QWidget

from ui.richtext.still_text import StillText
from ui.theme import BASE_FONT_PX, LINE_HEIGHT, ThemeSource

_PIECE = 2_000


class PlainView(StillText):
    """Shows one text in the interface face, in the theme's ``color``."""

    def __init__(
        self, look: ThemeSource, parent: QWidget | None = None, *, color: str = "text"
    ) -> None:
        super().__init__(look, parent)
        self._line = QTextBlockFormat()
        self._line.setLineHeight(
            round(BASE_FONT_PX * LINE_HEIGHT * look.zoom),
            QTextBlockFormat.LineHeightTypes.MinimumHeight.value,
        )
        self._char = QTextCharFormat()
        self._char.setFont(look.font())
        self._char.setForeground(look.color(color))
        self._widest = 0

    def set_plain(self, text: str) -> None:
        """Show ``text``; a line of any length is laid out in bounded pieces."""
        self.document().clear()
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        cursor.setBlockFormat(self._line)
        self._insert(cursor, text)
        cursor.endEditBlock()
        self.setLineWrapColumnOrWidth(100_000)
        self._widest = math.ceil(self.document().idealWidth()) + 1

    def append_plain(self, text: str) -> None:
        """Add to what is shown; the natural width is not kept up."""
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        self._insert(cursor, text)
        cursor.endEditBlock()

    def _insert(self, cursor: QTextCursor, text: str) -> None:
        for index, line in enumerate(text.split("\n")):
            for start in range(0, max(1, len(line)), _PIECE):
                if index or start:
                    cursor.insertBlock(self._line)
                cursor.insertText(line[start : start + _PIECE], self._char)

    def natural_width(self) -> int:
        """Width of the longest line, unwrapped."""
        return self._widest
