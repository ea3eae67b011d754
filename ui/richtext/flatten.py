"""From Markdown source to flat blocks, through markdown-it-py.

Raw HTML stays text, images become links to their address, and link definitions are not read
(one far below would change what is already shown).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ui.richtext.blocks import LINE_BREAK, Block, Code, Place, Prose, Rule, Span, Table

_BULLETS = ("\u2022", "\u25e6", "\u25aa")
_MAX_NESTING = 20


@dataclass(frozen=True, slots=True)
class ListRun:
    """A top-level list that the next item may continue."""

    kind: str
    markup: str
    next_number: int


@dataclass(slots=True)
class _OpenList:
    is_ordered: bool
    markup: str
    number: int
    pending_marker: str = ""

    def start_item(self, depth: int) -> None:
        if self.is_ordered:
            self.pending_marker = f"{self.number}{self.markup}"
            self.number += 1
        else:
            self.pending_marker = _BULLETS[min(depth, len(_BULLETS)) - 1]


def new_parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING})
    return parser.enable(["table", "strikethrough"]).disable(["reference"])


def unit_starts(parser: MarkdownIt, source: str) -> list[int]:
    """First line numbers of the top-level blocks; each item of a list counts as one."""
    tokens: list[Token] = []
    parser.block.parse(source, parser, {}, tokens)
    starts = []
    for token in tokens:
        if token.map is None or token.nesting < 0:
            continue
        is_list = token.type.endswith("_list_open")
        if (token.level == 0 and not is_list) or (
            token.level == 1 and token.type == "list_item_open"
        ):
            starts.append(token.map[0])
    return starts


def flatten(
    parser: MarkdownIt, source: str, run: ListRun | None
) -> tuple[list[Block], ListRun | None]:
    """Parse whole blocks; ``run`` is the list they may continue. Returns the run left open."""
    flattener = _Flattener(source, run)
    flattener.walk(parser.parse(source))
    return flattener.blocks, flattener.run


class _Flattener:
    """Walks a token stream once, keeping where it stands."""

    def __init__(self, source: str, run: ListRun | None) -> None:
        self._source = source
        self._num_before_quote = 0
        self._quote_map = [0, 0]
        self.blocks: list[Block] = []
        self.run = run
        self._quotes = 0
        self._lists: list[_OpenList] = []
        self._level = 0
        self._rows: list[list[tuple[Span, ...]]] = []
        self._aligns: list[str] = []
        self._in_table = False
        self._handlers: dict[str, Callable[[Token], None]] = {
            "blockquote_open": self._quote_open,
            "blockquote_close": self._quote_close,
            "bullet_list_open": self._list_open,
            "bullet_list_close": self._list_close,
            "ordered_list_open": self._list_open,
            "ordered_list_close": self._list_close,
            "list_item_open": self._item_open,
            "list_item_close": self._item_close,
            "heading_open": self._heading_open,
            "heading_close": self._heading_close,
            "inline": self._inline,
            "hr": self._rule,
            "fence": self._code,
            "code_block": self._code,
            "table_open": self._table_open,
            "tr_open": self._row_open,
            "th_open": self._heading_cell,
            "table_close": self._table_close,
        }

    def walk(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            if token.level == 0 and token.nesting >= 0 and not token.type.endswith("_list_open"):
                self.run = None
            if handler := self._handlers.get(token.type):
                handler(token)

    def _place(self) -> Place:
        marker = ""
        if self._lists:
            marker, self._lists[-1].pending_marker = self._lists[-1].pending_marker, ""
        return Place(self._quotes, len(self._lists), marker)

    def _quote_open(self, token: Token) -> None:
        self._flush_marker()
        self._quotes += 1
        if token.level == 0:
            self._num_before_quote = len(self.blocks)
            self._quote_map = token.map or [0, 0]

    def _quote_close(self, token: Token) -> None:
        self._quotes -= 1
        if token.level == 0 and len(self.blocks) == self._num_before_quote:
            # nested beyond what the parser follows: show it as it came
            lines = self._source.split("\n")[self._quote_map[0] : self._quote_map[1]]
            self.blocks.append(Prose((Span(LINE_BREAK.join(lines)),)))

    def _list_open(self, token: Token) -> None:
        self._flush_marker()
        number = int(token.attrs.get("start", 1))
        opened = _OpenList(token.type == "ordered_list_open", token.markup, number)
        if token.level == 0 and self.run is not None:
            if (self.run.kind, self.run.markup) == (token.type, token.markup):
                opened.number = self.run.next_number
            self.run = None
        self._lists.append(opened)

    def _list_close(self, token: Token) -> None:
        closed = self._lists.pop()
        if token.level == 0:
            kind = "ordered_list_open" if closed.is_ordered else "bullet_list_open"
            self.run = ListRun(kind, closed.markup, closed.number)

    def _item_open(self, _token: Token) -> None:
        self._lists[-1].start_item(len(self._lists))

    def _item_close(self, _token: Token) -> None:
        self._flush_marker()

    def _flush_marker(self) -> None:
        """Show a marker that has no text of its own, such as an empty item's."""
        if self._lists and self._lists[-1].pending_marker:
            self.blocks.append(Prose((), place=self._place()))

    def _heading_open(self, token: Token) -> None:
        self._level = int(token.tag[1])

    def _heading_close(self, _token: Token) -> None:
        self._level = 0

    def _inline(self, token: Token) -> None:
        found = spans(token.children or ())
        if self._in_table:
            self._rows[-1].append(found)
        else:
            self.blocks.append(Prose(found, self._level, self._place()))

    def _rule(self, _token: Token) -> None:
        self.blocks.append(Rule(self._place()))

    def _code(self, token: Token) -> None:
        language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
        text = token.content.removesuffix("\n")
        self._flush_marker()
        self.blocks.append(Code(text, language, place=self._place()))

    def _table_open(self, _token: Token) -> None:
        self._flush_marker()
        self._in_table, self._rows, self._aligns = True, [], []

    def _row_open(self, _token: Token) -> None:
        self._rows.append([])

    def _heading_cell(self, token: Token) -> None:
        style = str(token.attrGet("style") or "")
        self._aligns.append(style.removeprefix("text-align:") or "left")

    def _table_close(self, _token: Token) -> None:
        self._in_table = False
        rows = tuple(tuple(row) for row in self._rows)
        self.blocks.append(Table(rows, tuple(self._aligns), self._place()))


def spans(children: Sequence[Token]) -> tuple[Span, ...]:
    """The runs of one inline token; neighbours of one style are joined."""
    found: list[Span] = []
    style = Span("")
    for token in children:
        match token.type:
            case "strong_open" | "strong_close":
                style = replace(style, is_bold=token.nesting > 0)
            case "em_open" | "em_close":
                style = replace(style, is_italic=token.nesting > 0)
            case "s_open" | "s_close":
                style = replace(style, is_struck=token.nesting > 0)
            case "link_open":
                style = replace(style, href=str(token.attrGet("href") or ""))
            case "link_close":
                style = replace(style, href="")
            case _:
                _add(found, _leaf(token, style))
    return tuple(found)


def _leaf(token: Token, style: Span) -> Span:
    match token.type:
        case "softbreak" | "hardbreak":
            return _styled(LINE_BREAK, style)
        case "code_inline":
            return replace(style, text=token.content, is_code=True)
        case "image":
            address = str(token.attrGet("src") or "")
            return replace(style, text=token.content or address, href=address)
        case _:
            return _styled(token.content, style)


def _styled(text: str, style: Span) -> Span:
    # as ``replace`` would, which takes ten times as long for each of some thousand words
    return Span(text, style.is_bold, style.is_italic, style.is_struck, style.is_code, style.href)


def _add(found: list[Span], span: Span) -> None:
    if not span.text:
        return
    if found and _styled("", found[-1]) == _styled("", span):
        found[-1] = _styled(found[-1].text + span.text, span)
    else:
        found.append(span)
