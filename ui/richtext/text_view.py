"""A stretch of prose: a frozen part that is never laid out again, and a replaceable tail."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextBlockFormat, QTextCursor
from PySide6.QtWidgets import QWidget

from ui.richtext.blocks import Prose, Table, TextBlock
from ui.richtext.render import BlockRenderer, is_unused
from ui.richtext.still_text import StillText
from ui.theme import ThemeSource


class TextView(StillText):
    """Shows text blocks; ``freeze`` appends for good, ``show_tail`` replaces what follows."""

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(look, parent)
        self._renderer = BlockRenderer(look)
        self._frozen_end = self._tail_start = 0
        self._frozen_format = QTextBlockFormat()
        self._tail: tuple[TextBlock, ...] = ()
        self._has_frozen = False
        self._has_links = False

    @property
    def has_frozen(self) -> bool:
        """Whether any block is final."""
        return self._has_frozen

    def tab_stops(self) -> list[QWidget]:
        """The text itself, for its links."""
        return [self] if self._has_links else []

    def update_blocks(self, frozen: Sequence[TextBlock], tail: Sequence[TextBlock]) -> None:
        """Append final blocks, then show ``tail`` after them in place of the old tail."""
        tail = tuple(tail)
        if not frozen and tail == self._tail:
            return
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        self._drop_tail(cursor, keeps_block=bool(frozen) or bool(tail))
        if frozen:
            self._renderer.append(cursor, frozen)
            self._has_frozen = True
            self._frozen_end = cursor.position()
            self._frozen_format = cursor.blockFormat()
            self._tail_start = self._frozen_end + (0 if is_unused(cursor) else 1)
        self._renderer.append(cursor, tail)
        cursor.endEditBlock()
        self._tail = tail
        if not self._has_links and any(map(_has_link, (*frozen, *tail))):
            self._has_links = True
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def _drop_tail(self, cursor: QTextCursor, *, keeps_block: bool) -> None:
        """Remove the tail; its first block may stay, empty, for what comes in its place.

        Then the last frozen block is not touched at all. A table stands in no block of its own.
        """
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if not self._tail:
            return
        stays = keeps_block and not isinstance(self._tail[0], Table)
        start = self._tail_start if stays else self._frozen_end
        cursor.setPosition(start, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        if not stays and cursor.blockFormat() != self._frozen_format:
            # joining two blocks may leave the format of the second
            cursor.setBlockFormat(self._frozen_format)


def _has_link(block: TextBlock) -> bool:
    match block:
        case Prose():
            return any(span.href for span in block.spans)
        case Table():
            return any(span.href for row in block.rows for cell in row for span in cell)
        case _:
            return False
