"""Draws flat blocks into a QTextDocument through a cursor.

Every block becomes one text block (a table becomes one QTextTable), so a range of the document
can be replaced without touching what stands before it. Knows formats, no widgets.
"""

from collections.abc import Sequence
from enum import IntEnum

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextOption,
    QTextTable,
    QTextTableCellFormat,
    QTextTableFormat,
)

from ui.richtext.blocks import Place, Prose, Rule, Span, Table, TextBlock
from ui.theme import BASE_FONT_PX, LINE_HEIGHT, ThemeSource

INDENT = 24
QUOTE_INDENT = 16
_GAP = 12
_ITEM_GAP = 4
_HEADING_PX = (22, 19, 16, 15, 14, 14)


class BlockProperty(IntEnum):
    """What the view paints by itself: bars beside quotes and horizontal rules."""

    QUOTES = QTextFormat.Property.UserProperty.value + 1
    IS_RULE = QTextFormat.Property.UserProperty.value + 2


class BlockRenderer:
    """Formats for one theme and zoom; make a new one when either changes."""

    def __init__(self, look: ThemeSource) -> None:
        self._look = look
        self._base = QTextCharFormat()
        self._base.setFont(look.font())
        self._base.setForeground(look.color("text"))
        self._code = QTextCharFormat(self._base)
        self._code.setFont(look.code_font())
        self._code.setBackground(look.color("hover" if look.theme.name == "light" else "line"))

    def append(self, cursor: QTextCursor, blocks: Sequence[TextBlock]) -> None:
        """Add blocks at the document's end, where ``cursor`` stands."""
        for block in blocks:
            match block:
                case Prose():
                    self._prose(cursor, block)
                case Rule():
                    self._rule(cursor, block)
                case Table():
                    self._table(cursor, block)

    def extend(self, cursor: QTextCursor, block: TextBlock, spans: Sequence[Span]) -> None:
        """Add ``spans`` to the end of ``block``, where ``cursor`` stands."""
        level = block.level if isinstance(block, Prose) else 0
        base = self._heading_char(float(_HEADING_PX[level - 1])) if level else self._base
        self._spans(cursor, spans, base)

    def _start(self, cursor: QTextCursor, block_format: QTextBlockFormat) -> None:
        """Go to a fresh block; the empty one at the start or after a table is used up."""
        if is_unused(cursor):
            cursor.setBlockFormat(block_format)
        else:
            cursor.insertBlock(block_format, self._base)

    def _block_format(self, place: Place, size: float, *, gap: float) -> QTextBlockFormat:
        look = self._look
        block_format = QTextBlockFormat()
        height = round(size * LINE_HEIGHT * look.zoom)
        block_format.setLineHeight(height, QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
        block_format.setTopMargin(look.px(gap))
        indent = place.quotes * QUOTE_INDENT + place.lists * INDENT
        block_format.setLeftMargin(look.px(indent) if indent else 0)
        if place.marker:
            block_format.setTextIndent(-look.px(INDENT))
            tab = QTextOption.Tab()
            tab.position = look.px(INDENT)
            block_format.setTabPositions([tab])
        if place.quotes:
            block_format.setProperty(BlockProperty.QUOTES, place.quotes)
        return block_format

    def _prose(self, cursor: QTextCursor, block: Prose) -> None:
        size = float(_HEADING_PX[block.level - 1]) if block.level else float(BASE_FONT_PX)
        gap = _ITEM_GAP if block.place.lists else _GAP
        if block.level:
            gap = _GAP + 8 if block.level < 3 else _GAP + 4
        if cursor.atStart():
            gap = 0
        block_format = self._block_format(
            block.place, size * (0.88 if block.level else 1), gap=gap
        )
        block_format.setHeadingLevel(block.level)
        self._start(cursor, block_format)
        if block.place.marker:
            marker = QTextCharFormat(self._base)
            marker.setForeground(self._look.color("muted"))
            cursor.insertText(block.place.marker + "\t", marker)
        self._spans(cursor, block.spans, self._heading_char(size) if block.level else self._base)

    def _heading_char(self, size: float) -> QTextCharFormat:
        char = QTextCharFormat(self._base)
        char.setFont(self._look.font(size, QFont.Weight.DemiBold))
        return char

    def _spans(self, cursor: QTextCursor, spans: Sequence[Span], base: QTextCharFormat) -> None:
        for span in spans:
            cursor.insertText(span.text, self._char(span, base))

    def _char(self, span: Span, base: QTextCharFormat) -> QTextCharFormat:
        if span == Span(span.text):
            return base
        char = QTextCharFormat(self._code if span.is_code else base)
        if span.is_bold:
            char.setFontWeight(QFont.Weight.DemiBold)
        if span.is_italic:
            char.setFontItalic(True)
        if span.is_struck:
            char.setFontStrikeOut(True)
        if span.href:
            char.setAnchor(True)
            char.setAnchorHref(span.href)
            char.setForeground(self._look.color("accent"))
            char.setFontUnderline(True)
            char.setToolTip(span.href)
        return char

    def _rule(self, cursor: QTextCursor, block: Rule) -> None:
        block_format = self._block_format(block.place, BASE_FONT_PX, gap=_GAP)
        block_format.setTextIndent(0)
        block_format.setProperty(BlockProperty.IS_RULE, True)  # noqa: FBT003 - Qt's signature
        self._start(cursor, block_format)
        # a block with no text would be taken for an unused one
        cursor.insertText("\u200b", self._base)

    def _table(self, cursor: QTextCursor, block: Table) -> None:
        look = self._look
        columns = max(1, len(block.aligns))
        table_format = QTextTableFormat()
        table_format.setBorder(0)
        table_format.setCellSpacing(0)
        table_format.setCellPadding(0)
        table_format.setTopMargin(look.px(_GAP))
        table_format.setBottomMargin(look.px(_GAP))
        table_format.setBorderCollapse(True)
        table_format.setHeaderRowCount(1)
        indent = block.place.quotes * QUOTE_INDENT + block.place.lists * INDENT
        table_format.setLeftMargin(look.px(indent) if indent else 0)
        table_format.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
        if is_unused(cursor):
            cursor.setBlockFormat(self._hidden_line())
        table = cursor.insertTable(len(block.rows), columns, table_format)
        self._fill(table, block, range(len(block.rows)))
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.setBlockFormat(self._hidden_line())

    def extend_table(self, table: QTextTable, block: Table, start: int) -> None:
        """Bring ``table`` up to date with ``block``, which differs from row ``start`` on."""
        if len(block.rows) > table.rows():
            table.appendRows(len(block.rows) - table.rows())
        self._fill(table, block, range(start, len(block.rows)))

    def _fill(self, table: QTextTable, block: Table, rows: range) -> None:
        for row in rows:
            for column, spans in enumerate(block.rows[row][: table.columns()]):
                cell = table.cellAt(row, column)
                cell.setFormat(self._cell(is_heading=row == 0))
                inside = cell.firstCursorPosition()
                keep = QTextCursor.MoveMode.KeepAnchor
                inside.setPosition(cell.lastCursorPosition().position(), keep)
                inside.removeSelectedText()
                inside.setBlockFormat(self._cell_block(block.aligns[column]))
                base = self._heading_char(BASE_FONT_PX) if row == 0 else self._base
                self._spans(inside, spans, base)

    def _cell(self, *, is_heading: bool) -> QTextTableCellFormat:
        look = self._look
        cell = QTextTableCellFormat()
        cell.setTopPadding(look.px(6))
        cell.setBottomPadding(look.px(6))
        cell.setRightPadding(look.px(16))
        cell.setBottomBorder(1)
        cell.setBottomBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        cell.setBottomBorderBrush(QBrush(look.color("muted" if is_heading else "line")))
        return cell

    def _cell_block(self, align: str) -> QTextBlockFormat:
        block_format = self._block_format(Place(), BASE_FONT_PX, gap=0)
        block_format.setTopMargin(0)
        flag = {"center": Qt.AlignmentFlag.AlignHCenter, "right": Qt.AlignmentFlag.AlignRight}
        block_format.setAlignment(flag.get(align, Qt.AlignmentFlag.AlignLeft))
        return block_format

    def _hidden_line(self) -> QTextBlockFormat:
        """The empty block that Qt keeps beside a table, one pixel high."""
        block_format = QTextBlockFormat()
        block_format.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        return block_format


def is_unused(cursor: QTextCursor) -> bool:
    """Whether the cursor stands in an empty block: the document's first, or one after a table."""
    return cursor.block().length() == 1
