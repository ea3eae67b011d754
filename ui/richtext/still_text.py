"""Read-only text that is as high as its document and never scrolls vertically.

Loads nothing: images and other resources named by a text are denied. Links are only reported.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice

from PySide6.QtCore import QByteArray, QPointF, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
    QTextBlock,
    QTextCursor,
    QTextLayout,
    QTextLine,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QMenu, QTextBrowser, QTextEdit, QWidget
from typing_extensions import override

from ui.i18n import tr
from ui.richtext.render import QUOTE_INDENT, BlockProperty
from ui.theme import ThemeSource

_SCROLL_KEYS = (
    Qt.Key.Key_PageUp,
    Qt.Key.Key_PageDown,
    Qt.Key.Key_Home,
    Qt.Key.Key_End,
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_Space,
)


class StillText(QTextBrowser):
    """``link_clicked`` carries the full address; ``painted`` follows a paint with visible text."""

    link_clicked = Signal(str)
    painted = Signal()

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.look = look
        self._marks: tuple[tuple[int, int], ...] = ()
        self.has_lines = False  # beside quotes, or across
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.viewport().setAutoFillBackground(False)
        # a text that grows is painted where it grew
        for part in (self, self.viewport()):
            part.setAttribute(Qt.WidgetAttribute.WA_StaticContents)
        self.document().setDocumentMargin(0)
        # the width is given, hidden or not: QTextEdit learns its own only when shown
        self.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
            | Qt.TextInteractionFlag.LinksAccessibleByMouse
            | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.anchorClicked.connect(self._report_link)

    def height_for(self, width: int) -> int:
        """Lay the text out ``width`` px wide and return its height."""
        if self.lineWrapColumnOrWidth() != width:
            self.setLineWrapColumnOrWidth(width)
        return math.ceil(self.document().size().height())

    def rest_caret(self) -> None:
        """Put the caret to the start: it moves with text put in where it is, the view after it."""
        caret = self.textCursor()
        if caret.position() and not caret.hasSelection():
            caret.setPosition(0)
            self.setTextCursor(caret)

    def shown_text(self) -> str:
        """All characters of the document, so that an index is a position."""
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        return cursor.selectedText()

    @property
    def marks(self) -> tuple[tuple[int, int], ...]:
        """The tinted ranges of positions."""
        return self._marks

    def set_marks(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Tint ranges of positions softly, with dots under them for who does not see the colour.

        They are in order and do not overlap. Only those in view are painted.
        """
        marks = tuple(ranges)
        if marks != self._marks:
            self._marks = marks
            self.viewport().update()

    def has_selection(self) -> bool:
        """Whether the reader has marked something."""
        return self.textCursor().hasSelection()

    def _report_link(self, url: QUrl) -> None:
        self.link_clicked.emit(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))

    @override
    def loadResource(self, type: int, name: QUrl | str) -> object:
        # an empty answer; None would let the document read local files by itself
        return QByteArray()

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        bar = self.horizontalScrollBar()
        sideways = event.angleDelta().x() or event.pixelDelta().x()
        if sideways and bar.maximum() > 0:
            super().wheelEvent(event)
        else:
            event.ignore()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_moving = event.key() in _SCROLL_KEYS
        if is_moving and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            event.ignore()
        else:
            super().keyPressEvent(event)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        copy = menu.addAction(tr("Copy"), self.copy)
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.setEnabled(self.has_selection())
        link = self.anchorAt(event.pos())
        if link:
            menu.addAction(tr("Open link…"), lambda: self.link_clicked.emit(link))
        menu.addAction(tr("Select all"), self.selectAll)
        menu.exec(event.globalPos())
        menu.deleteLater()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        self._paint_marks(event)
        super().paintEvent(event)
        if not self.document().isEmpty():
            self.painted.emit()

    def _paint_marks(self, event: QPaintEvent) -> None:
        """Bars beside quotes, horizontal rules, and what is tinted."""
        if not (self.has_lines or self._marks):
            return
        layout = self.document().documentLayout()
        painter = QPainter(self.viewport())
        line = self.look.color("line")
        block = self._block_near(event.rect().top())
        while block.isValid():
            rect = layout.blockBoundingRect(block)
            if rect.top() > event.rect().bottom():
                break
            self._paint_mark(painter, block, rect, line)
            self._paint_tint(painter, block, rect)
            block = block.next()
        painter.end()

    def _block_near(self, y: int) -> QTextBlock:
        position = (
            self.document()
            .documentLayout()
            .hitTest(QPointF(0, max(0, y)), Qt.HitTestAccuracy.FuzzyHit)
        )
        return (
            self.document().findBlock(max(0, position)).previous()
            if position > 0
            else (self.document().begin())
        )

    def _paint_tint(self, painter: QPainter, block: QTextBlock, rect: QRectF) -> None:
        start = block.position()
        first = bisect_right(self._marks, (start, start))
        first -= bool(first and self._marks[first - 1][1] > start)
        for low, high in islice(self._marks, first, None):
            if low >= start + block.length():
                return
            span = max(0, low - start), high - start
            # a cell's own layout knows its place in the cell only
            self._paint_range(painter, block.layout(), rect.topLeft(), span)

    def _paint_range(
        self, painter: QPainter, layout: QTextLayout, origin: QPointF, span: tuple[int, int]
    ) -> None:
        """Tint the characters ``span`` of a block, line by line."""
        dots = QPen(self.look.color("accent"), max(1, self.look.px(1)), Qt.PenStyle.DotLine)
        for number in range(layout.lineCount()):
            line = layout.lineAt(number)
            low = max(span[0], line.textStart())
            high = min(span[1], line.textStart() + line.textLength())
            if low >= high:
                continue
            left, right = _place_in(line, low), _place_in(line, high)
            top = origin.y() + line.y()
            tinted = QRectF(origin.x() + left, top, right - left, line.height())
            painter.fillRect(tinted, self.look.color("accent_soft"))
            painter.setPen(dots)
            below = origin.y() + line.y() + line.ascent() + self.look.px(3)
            painter.drawLine(QPointF(tinted.left(), below), QPointF(tinted.right() - 1, below))

    def _paint_mark(
        self, painter: QPainter, block: QTextBlock, rect: QRectF, line: QColor
    ) -> None:
        block_format = block.blockFormat()
        quotes = _quotes(block)
        joined = _quotes(block.previous())
        for level in range(quotes):
            x = self.look.px(level * QUOTE_INDENT) if level else 0
            top = rect.top() - (block_format.topMargin() + 1 if level < joined else 0)
            bottom = rect.top() + block.layout().lineCount() * block_format.lineHeight()
            painter.fillRect(QRectF(x, top, self.look.px(3), bottom - top), line)
        if block_format.property(BlockProperty.IS_RULE):
            middle = round(rect.center().y() + block_format.topMargin() / 2)
            painter.fillRect(QRectF(block_format.leftMargin(), middle, self.width(), 1), line)


def _place_in(line: QTextLine, character: int) -> float:
    """Where a character of the block stands in a line, px from the block's left."""
    # PySide returns the place alone, or with the character that it is of
    place = line.cursorToX(character)
    if isinstance(place, tuple):
        place = place[0]
    assert isinstance(place, int | float)
    return place


def _quotes(block: QTextBlock) -> int:
    return int(block.blockFormat().property(BlockProperty.QUOTES) or 0) if block.isValid() else 0
