"""What a Markdown text is made of, flattened for a text document.

Lists and quotes do not nest here: every block says where it stands (``Place``). Plain values;
knows neither Markdown's syntax nor Qt.
"""

from dataclasses import dataclass

LINE_BREAK = "\u2028"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block stands: levels of quotes and lists, and the list marker before it."""

    quotes: int = 0
    lists: int = 0
    marker: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A run of text in one style; ``href`` makes it a link. Line breaks are U+2028."""

    text: str
    is_bold: bool = False
    is_italic: bool = False
    is_struck: bool = False
    is_code: bool = False
    href: str = ""


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph (``level`` 0) or a heading (1 to 6)."""

    spans: tuple[Span, ...]
    level: int = 0
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line."""

    place: Place = Place()


@dataclass(frozen=True, slots=True)
class Table:
    """Cells row by row, the heading first. ``aligns``: "left", "center" or "right" a column."""

    rows: tuple[tuple[tuple[Span, ...], ...], ...]
    aligns: tuple[str, ...]
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class Code:
    """A code block without its fences. ``is_open`` while its end has not arrived."""

    text: str
    language: str = ""
    is_open: bool = False
    place: Place = Place()


TextBlock = Prose | Rule | Table
Block = TextBlock | Code
