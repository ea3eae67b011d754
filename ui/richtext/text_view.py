"""A stretch of prose: a frozen part that is never laid out again, and a replaceable tail."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QTextBlockFormat, QTextCursor, QTextTable
from PySide6.QtWidgets import QWidget

from ui.richtext.blocks import Prose, Rule, Span, Table, TextBlock
from ui.richtext.render import BlockRenderer, is_unused
from ui.richtext.still_text import StillText
from ui.theme import ThemeSource

_OVERHANG = 4  # of letters above their line, px


@dataclass(frozen=True, slots=True)
class _End:
    """Where a shown block ends, its format there, and where the next one begins."""

    position: int = 0
    block_format: QTextBlockFormat = field(default_factory=QTextBlockFormat)
    next_start: int = 0


class TextView(StillText):
    """Shows text blocks, of which those at the end, the tail, may be replaced."""

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(look, parent)
        self._renderer = BlockRenderer(look)
        self._frozen = _End()
        self._tail: tuple[TextBlock, ...] = ()
        self._tail_ends: list[_End] = []  # of its blocks; that of the last grows with it
        self._has_frozen = False
        self._has_links = False
        self._stale_from: int | None = None  # y, of what changed quietly

    @property
    def has_frozen(self) -> bool:
        """Whether any block is final."""
        return self._has_frozen

    def tab_stops(self) -> list[QWidget]:
        """The text itself, for its links."""
        return [self] if self._has_links else []

    def update_blocks(
        self, frozen: Sequence[TextBlock], tail: Sequence[TextBlock], *, is_quiet: bool = False
    ) -> None:
        """Append final blocks, then show ``tail`` after them in place of the old tail.

        ``is_quiet``: nothing is painted anew before ``refresh``, so that a page may move meanwhile
        what it has painted.
        """
        tail = tuple(tail)
        if not frozen and tail == self._tail:
            return
        blocker = QSignalBlocker(self.document().documentLayout()) if is_quiet else None
        stale_from = self._change(self._adopt(frozen), tail)
        self._tail = tail
        if blocker is not None:
            blocker.unblock()
            known = stale_from if self._stale_from is None else self._stale_from
            self._stale_from = min(known, stale_from)
        self.has_lines = self.has_lines or any(map(_has_line, (*frozen, *tail)))
        if not self._has_links and any(map(_has_link, (*frozen, *tail))):
            self._has_links = True
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    @property
    def is_stale(self) -> bool:
        """Whether something changed quietly."""
        return self._stale_from is not None

    def refresh(self) -> None:
        """Paint what changed quietly."""
        if self._stale_from is not None:
            view, top = self.viewport(), self._stale_from
            self._stale_from = None
            view.update(0, top, view.width(), max(0, view.height() - top))

    def _adopt(self, frozen: Sequence[TextBlock]) -> Sequence[TextBlock]:
        """Take those for final that the tail begins with; returns the others."""
        count = min(len(frozen), len(self._tail))
        if not count or tuple(frozen[:count]) != self._tail[:count]:
            return frozen
        self._has_frozen = True
        self._frozen = self._tail_ends[count - 1]
        if count == len(self._tail):  # it may have grown since
            self._frozen = self._end_at(QTextCursor(self.document()))
        self._tail, self._tail_ends = self._tail[count:], self._tail_ends[count:]
        return frozen[count:]

    def _change(self, frozen: Sequence[TextBlock], tail: tuple[TextBlock, ...]) -> int:
        """Append ``frozen`` and show ``tail`` in the cheapest way; returns the y of the first change."""
        cursor = QTextCursor(self.document())
        if not frozen and tail == self._tail:
            return self._last_line_top()
        grown = () if frozen else _growth(self._tail, tail)
        row = 0 if frozen else _first_new_row(self._tail, tail)
        if row:
            return self._lengthen(cursor, tail[-1], row)
        if grown:
            stale_from = self._last_line_top()
            # within an edit a cursor does not ask for its place, which has a line shaped each time
            cursor.beginEditBlock()
            cursor.movePosition(QTextCursor.MoveOperation.End)
            self._renderer.extend(cursor, tail[-1], grown)
            cursor.endEditBlock()
            return stale_from
        is_longer = not frozen and tail[: len(self._tail)] == self._tail
        stale_from = self._last_line_top() if is_longer else self._tail_top()
        self._replace_tail(cursor, frozen, tail, num_kept=len(self._tail) if is_longer else 0)
        return stale_from

    def _tail_top(self) -> int:
        """Where the blocks stand that are not frozen, and the last frozen one, which may change."""
        return self._top_of(self._frozen.position)

    def _last_line_top(self) -> int:
        layout = self.document().lastBlock().layout()
        line = layout.lineAt(max(0, layout.lineCount() - 1))
        return self._top_of(self.document().lastBlock().position()) + math.floor(line.y())

    def _top_of(self, position: int) -> int:
        block = self.document().findBlock(position)
        rect = self.document().documentLayout().blockBoundingRect(block)
        return math.floor(rect.top()) - _OVERHANG

    def _lengthen(self, cursor: QTextCursor, block: TextBlock, row: int) -> int:
        """Show ``block``, the table at the end, anew from ``row`` on; returns where that changes."""
        table = self.document().rootFrame().childFrames()[-1]
        assert isinstance(table, QTextTable)
        assert isinstance(block, Table)
        columns = self._columns(table)
        cursor.beginEditBlock()
        self._renderer.extend_table(table, block, row)
        cursor.endEditBlock()
        if self._columns(table) != columns:
            return self._tail_top()
        return self._top_of(table.cellAt(row - 1, 0).firstPosition())

    def _columns(self, table: QTextTable) -> list[tuple[float, float]]:
        """Where the columns stand, and how wide they are."""
        layout = self.document().documentLayout()
        heads = (table.cellAt(0, column) for column in range(table.columns()))
        rects = [layout.blockBoundingRect(head.firstCursorPosition().block()) for head in heads]
        return [(rect.left(), rect.width()) for rect in rects]

    def _replace_tail(
        self,
        cursor: QTextCursor,
        frozen: Sequence[TextBlock],
        tail: Sequence[TextBlock],
        *,
        num_kept: int,
    ) -> None:
        """``num_kept``: so many blocks of the tail stay, all that there are, or none."""
        cursor.beginEditBlock()
        if num_kept:
            cursor.movePosition(QTextCursor.MoveOperation.End)
            self._tail_ends[-1] = self._end_at(cursor)
        else:
            self._drop_tail(cursor, keeps_block=bool(frozen) or bool(tail))
            self._tail_ends.clear()
        if frozen:
            self._renderer.append(cursor, frozen)
            self._has_frozen = True
            self._frozen = self._end_at(cursor)
        for block in tail[num_kept:]:
            self._renderer.append(cursor, (block,))
            self._tail_ends.append(self._end_at(cursor))
        cursor.endEditBlock()

    @staticmethod
    def _end_at(cursor: QTextCursor) -> _End:
        """The end of the document, as it is now."""
        cursor.movePosition(QTextCursor.MoveOperation.End)
        position = cursor.position()
        next_start = position + (0 if is_unused(cursor) else 1)
        return _End(position, cursor.blockFormat(), next_start)

    def _drop_tail(self, cursor: QTextCursor, *, keeps_block: bool) -> None:
        """Remove the tail; its first block may stay, empty, for what comes in its place.

        Then the last frozen block is not touched at all. A table stands in no block of its own.
        """
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if not self._tail:
            return
        stays = keeps_block and not isinstance(self._tail[0], Table)
        start = self._frozen.next_start if stays else self._frozen.position
        cursor.setPosition(start, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        if not stays and cursor.blockFormat() != self._frozen.block_format:
            # joining two blocks may leave the format of the second
            cursor.setBlockFormat(self._frozen.block_format)


def _has_link(block: TextBlock) -> bool:
    match block:
        case Prose():
            return any(span.href for span in block.spans)
        case Table():
            return any(span.href for row in block.rows for cell in row for span in cell)
        case _:
            return False


def _has_line(block: TextBlock) -> bool:
    return isinstance(block, Rule) or bool(block.place.quotes)


def _first_new_row(old: Sequence[TextBlock], new: Sequence[TextBlock]) -> int:
    """Where the table at the end of ``new`` differs from that of ``old``; 0 where more does."""
    if not old or len(old) != len(new) or old[:-1] != new[:-1]:
        return 0
    before, after = old[-1], new[-1]
    if not isinstance(before, Table) or not isinstance(after, Table):
        return 0
    if (before.aligns, before.place) != (after.aligns, after.place):
        return 0
    for num_same in (len(before.rows), len(before.rows) - 1):  # the last row may have grown
        if num_same <= len(after.rows) and before.rows[:num_same] == after.rows[:num_same]:
            return num_same
    return 0


def _growth(old: Sequence[TextBlock], new: Sequence[TextBlock]) -> tuple[Span, ...]:
    """What the last block of ``new`` has more than that of ``old``; () where more has changed."""
    if not old or len(old) != len(new) or old[:-1] != new[:-1]:
        return ()
    before, after = old[-1], new[-1]
    if not isinstance(before, Prose) or not isinstance(after, Prose) or not before.spans:
        return ()
    if (before.level, before.place) != (after.level, after.place):
        return ()
    *same, last = before.spans
    if len(after.spans) < len(before.spans) or after.spans[: len(same)] != tuple(same):
        return ()
    longer = after.spans[len(same)]
    rest = longer.text.removeprefix(last.text)
    if rest == longer.text or replace(longer, text="") != replace(last, text=""):
        return ()
    grown = (replace(longer, text=rest),) if rest else ()
    return (*grown, *after.spans[len(before.spans) :])
