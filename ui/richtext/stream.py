"""Markdown that grows: finished blocks are frozen, only the tail is parsed again.

    | frozen: parsed once, never touched again | tail: parsed at every look |
                                               ^ start of the last block, or of a list's last item

Any chunking of a text gives the same blocks. A block longer than ``BLOCK_LIMIT`` characters is
ended by force at a line's end, and a line longer than that is shown as plain text, so that no
text makes a step slow. Knows no Qt.
"""

import re
from dataclasses import dataclass, replace

from markdown_it import MarkdownIt

from ui.richtext.blocks import Block, Code, Place, Prose, Span, Table
from ui.richtext.flatten import ListRun, flatten, new_parser, unit_starts

BLOCK_LIMIT = 8_000
LITERAL_PIECE = 2_000
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)+")
# text that cannot change what stands before it, in a line that is known to be prose
_PLAIN = re.compile(r"(?:[^\W_]|[ ,.'\"?-])+")
_LETTER = re.compile(r"[^\W\d_]")
EXTENDED_LIMIT = 4_000
_FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`\n]*\n)|~{3,})([^\n]*)\n")


@dataclass(frozen=True, slots=True)
class Growth:
    """What changed since the last look: blocks that became final, and all blocks after them."""

    frozen: tuple[Block, ...]
    tail: tuple[Block, ...]


@dataclass(slots=True)
class _OpenFence:
    marker: str
    indent: int
    language: str
    lines: list[str]

    def is_end(self, line: str) -> bool:
        body = line.lstrip(" ")
        fence = body.rstrip(" \t")
        return (
            len(line) - len(body) <= 3
            and len(fence) >= len(self.marker)
            and fence == self.marker[0] * len(fence)
        )

    def may_become_end(self, line: str) -> bool:
        return not line.strip(f" {self.marker[0]}")

    def block(self, rest: str | None, *, is_open: bool) -> Code:
        lines = self.lines if rest is None else [*self.lines, self.unindented(rest)]
        return Code("\n".join(lines), self.language, is_open)

    def unindented(self, line: str) -> str:
        spaces = min(self.indent, len(line) - len(line.lstrip(" ")))
        return line[spaces:]


class MarkdownStream:
    """Turns appended text into blocks."""

    def __init__(self) -> None:
        self._parser = new_parser()
        self._tail = ""
        self._held_back = ""
        self._run: ListRun | None = None
        self._fence: _OpenFence | None = None
        self._is_literal_line = False
        self._fresh: list[Block] = []
        self._seen: tuple[str, list[Block]] = ("", [])  # the tail at the last look, and its blocks

    def append(self, text: str) -> None:
        """Add text; nothing is parsed before the next ``look``."""
        text = self._held_back + text
        self._held_back = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r") if self._held_back else text
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
        self._tail += text

    def look(self) -> Growth:
        """Freeze what is finished and parse the rest.

        Unless that only got longer by plain words, or by rows of a table.
        """
        tail = extended(*self._seen, self._tail)
        if tail is None:
            tail = lengthened(self._parser, *self._seen, self._tail)
        if tail is None:
            self._freeze()
            tail = self._parse_tail()
        is_prose = self._fence is None and not self._is_literal_line
        self._seen = (self._tail, tail) if is_prose else ("", [])
        return self._growth(tail)

    def look_at_finished(self) -> Growth:
        """Freeze what is finished; of the rest only code, of which no line changes any more.

        Cheaper than ``look`` where more text is there already.
        """
        self._freeze()
        self._seen = ("", [])
        return self._growth(self._parse_tail() if self._fence is not None else [])

    def finish(self) -> Growth:
        """Freeze everything: no more text comes."""
        if self._held_back:
            self._tail += "\n"
            self._held_back = ""
        self._freeze()
        self._fresh += [
            replace(block, is_open=False) if isinstance(block, Code) else block
            for block in self._parse_tail(is_last=True)
        ]
        self._tail, self._fence, self._run = "", None, None
        self._seen = ("", [])
        return self._growth([])

    def _growth(self, tail: list[Block]) -> Growth:
        growth = Growth(tuple(self._fresh), tuple(tail))
        self._fresh = []
        return growth

    def _freeze(self) -> None:
        while self._step():
            pass

    def _step(self) -> bool:
        """Freeze one stretch from the start of the tail; False when nothing more is final."""
        if self._is_literal_line:
            return self._consume_literal()
        if self._fence is not None:
            return self._consume_fence()
        if blank := _BLANK_LINES.match(self._tail):
            self._tail = self._tail[blank.end() :]
        if opened := _FENCE.match(self._tail):
            indent, marker, info = opened.groups()
            language = info.split(maxsplit=1)[0] if info.strip() else ""
            self._fence = _OpenFence(marker, len(indent), language, [])
            self._tail = self._tail[opened.end() :]
            return True
        return self._consume_blocks()

    def _consume_literal(self) -> bool:
        end = self._tail.find("\n", 0, LITERAL_PIECE)
        if end < 0 and len(self._tail) < LITERAL_PIECE:
            return False
        size = LITERAL_PIECE if end < 0 else end
        if size:
            self._fresh.append(Prose((Span(self._tail[:size]),)))
        self._is_literal_line = end < 0
        self._tail = self._tail[size:].removeprefix("\n" if end >= 0 else "")
        return True

    def _consume_fence(self) -> bool:
        fence = self._fence
        assert fence is not None
        *lines, rest = self._tail.split("\n")
        for index, line in enumerate(lines):
            if fence.is_end(line):
                self._fresh.append(fence.block(None, is_open=False))
                self._fence, self._run = None, None
                self._tail = "\n".join([*lines[index + 1 :], rest])
                return True
            fence.lines.append(fence.unindented(line))
        self._tail = rest
        return False

    def _consume_blocks(self) -> bool:
        end, is_full = self._window()
        if end:
            starts = unit_starts(self._parser, self._tail[:end])
            if len(starts) > 1:
                self._freeze_source(_line_offset(self._tail, starts[-1]))
                return True
        if is_full:
            self._freeze_source(end)
            self._is_literal_line = end == 0
        return is_full

    def _window(self) -> tuple[int, bool]:
        """End of the complete lines to look at, and whether the block may not go beyond it."""
        end = 0
        while end < BLOCK_LIMIT:
            newline = self._tail.find("\n", end)
            if (len(self._tail) if newline < 0 else newline) - end > BLOCK_LIMIT:
                return end, True
            if newline < 0:
                return end, False
            end = newline + 1
        return end, True

    def _freeze_source(self, end: int) -> None:
        blocks, self._run = flatten(self._parser, self._tail[:end], self._run)
        self._fresh += blocks
        self._tail = self._tail[end:]

    def _parse_tail(self, *, is_last: bool = False) -> list[Block]:
        if self._is_literal_line:
            return [Prose((Span(self._tail),))] if self._tail else []
        if self._fence is not None:
            is_end = self._fence.is_end(self._tail)
            hide = is_end if is_last else self._fence.may_become_end(self._tail)
            rest = None if hide or not self._tail else self._tail
            return [self._fence.block(rest, is_open=True)]
        blocks, _run = flatten(self._parser, self._tail, self._run)
        return blocks


def extended(old: str, blocks: list[Block], new: str) -> list[Block] | None:
    """The blocks of ``new``, given those of ``old``, where it adds nothing but plain words.

    Such words go to the end of the last paragraph as they are. None: only a parser can tell.
    """
    added = new[len(old) :]
    if not blocks or not _is_plain(old, added) or not new.startswith(old):
        return None
    last = blocks[-1]
    # a heading may end in marks that are not shown while they stand at the end
    if not isinstance(last, Prose) or last.level or not last.spans:
        return None
    span, body = last.spans[-1], old.rstrip(" ")
    if not span.text.endswith(body[-1]) or len(new) > EXTENDED_LIMIT:
        return None
    # the spaces at the end of a paragraph are not shown before something follows
    text = span.text + (old[len(body) :] + added).rstrip(" ")
    return [*blocks[:-1], replace(last, spans=(*last.spans[:-1], replace(span, text=text)))]


def lengthened(parser: MarkdownIt, old: str, blocks: list[Block], new: str) -> list[Block] | None:
    """The blocks of ``new``, given those of ``old``, a table that it gives nothing but rows.

    Rows are read one by one, so the finished ones are not read again. None: only a parser can tell.
    """
    known = blocks[0] if len(blocks) == 1 else None
    if not isinstance(known, Table) or known.place != Place() or not new.startswith(old):
        return None
    head_end = old.find("\n", old.find("\n") + 1) + 1
    start = old.rfind("\n") + 1  # of the last row, which may grow
    if not 0 < head_end <= start or len(new) >= BLOCK_LIMIT or not _are_rows(new[start:]):
        return None
    parsed, _run = flatten(parser, old[:head_end] + new[start:], None)
    fresh = parsed[0] if len(parsed) == 1 else None
    if not isinstance(fresh, Table) or fresh.rows[0] != known.rows[0]:
        return None
    done = known.rows[: 1 + old.count("\n", head_end, start)]
    return [replace(known, rows=(*done, *fresh.rows[1:]))]


def _are_rows(text: str) -> bool:
    """Whether each line, of which the last may be about to begin, can be nothing but a row."""
    *lines, last = text.split("\n")
    return all(line.startswith("|") for line in lines) and (not last or last.startswith("|"))


def _is_plain(old: str, added: str) -> bool:
    """Whether words are added to a line that begins as prose and does not end in markup."""
    line = old[old.rfind("\n") + 1 :]
    return (
        _PLAIN.fullmatch(added) is not None
        and _PLAIN.fullmatch(line[-1:]) is not None
        and _LETTER.search(line) is not None
    )


def _line_offset(text: str, line: int) -> int:
    """Where a line starts."""
    offset = 0
    for _ in range(line):
        offset = text.index("\n", offset) + 1
    return offset


def parse_markdown(text: str) -> tuple[Block, ...]:
    """All blocks of a finished text."""
    stream = MarkdownStream()
    stream.append(text)
    return stream.finish().frozen
