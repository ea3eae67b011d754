"""Colours finished code in small slices, so that no frame waits for a lexer.

Colours are laid over the lines (QTextLayout formats): the text and its layout do not change.
"""

from collections.abc import Iterator
from time import perf_counter_ns

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QTextDocument, QTextLayout

from ui.richtext.code_colors import CodeColors
from ui.richtext.lexing import lex

SLICE_NS = 4_000_000
MAX_CHARACTERS = 50_000
_TOKENS_A_LOOK = 32


class Highlighter(QObject):
    """Highlights one document once; a new ``start`` abandons the run before it."""

    def __init__(self, document: QTextDocument, parent: QObject) -> None:
        super().__init__(parent)
        self._document = document
        self._timer = QTimer(self)
        self._timer.setObjectName("highlight-slices")
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._slice)
        self._tokens: Iterator[tuple[int, str, str]] = iter(())
        self._colors = CodeColors("light")
        self._line = document.begin()
        self._ranges: list[QTextLayout.FormatRange] = []

    @property
    def is_running(self) -> bool:
        """Whether slices are still to come."""
        return self._timer.isActive()

    def start(self, text: str, language: str, colors: CodeColors) -> None:
        """Begin with ``text``, which the document shows; unknown languages stay plain."""
        self.stop()
        if len(text) > MAX_CHARACTERS:
            return
        self._tokens = lex(text, language)
        self._colors = colors
        self._line = self._document.begin()
        self._ranges = []
        self._timer.start()

    def stop(self) -> None:
        """Abandon what is left."""
        self._timer.stop()

    def _slice(self) -> None:
        deadline = perf_counter_ns() + SLICE_NS
        for count, (position, kind, piece) in enumerate(self._tokens):
            if piece:
                self._color(position, kind, piece)
            if (not piece or count % _TOKENS_A_LOOK == 0) and perf_counter_ns() > deadline:
                return
        self._lay_over()
        self._timer.stop()

    def _color(self, position: int, kind: str, text: str) -> None:
        char = self._colors.format_of(kind)
        if char is None:
            return
        for piece in text.split("\n"):
            if piece:
                self._go_to(position)
                found = QTextLayout.FormatRange()
                found.start = position - self._line.position()
                found.length = len(piece)
                found.format = char
                self._ranges.append(found)
            position += len(piece) + 1

    def _go_to(self, position: int) -> None:
        if position < self._line.position() + self._line.length():
            return
        self._lay_over()
        self._line = self._document.findBlock(position)

    def _lay_over(self) -> None:
        if self._ranges and self._line.isValid():
            self._line.layout().setFormats(self._ranges)
            self._document.markContentsDirty(self._line.position(), self._line.length())
        self._ranges = []
