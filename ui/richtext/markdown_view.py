"""A whole Markdown text: prose and code blocks one under the other, growing at the end."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter_ns

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QWidget

from ui.richtext.blocks import Block, Code, Table, TextBlock
from ui.richtext.code_view import CodeView
from ui.richtext.render import INDENT, QUOTE_INDENT
from ui.richtext.still_text import StillText
from ui.richtext.stream import Growth, MarkdownStream
from ui.richtext.text_view import TextView
from ui.richtext.tint import Range, place_ranges
from ui.theme import ThemeSource

GAP = 14
SLICE_CHARACTERS = 700
SLICE_BLOCKS = 3
SLICE_ROWS = 12  # of a table
SLICE_NS = 6_000_000
TINTED_CHARACTERS = 20_000  # of one answer; more would hold a frame up


@dataclass(slots=True)
class _Run:
    """Neighbouring blocks that share one widget."""

    frozen: list[TextBlock] = field(default_factory=list)
    tail: list[TextBlock] = field(default_factory=list)
    code: Code | None = None
    is_final: bool = False


class MarkdownView(QWidget):
    """Grows by ``append`` and ends with ``finish``; ``set_text`` shows a whole text in slices.

    The slices come by themselves, or by ``build`` where the owner shares its time among several.
    Its owner gives the width by ``height_for`` and then the geometry.
    """

    height_changed = Signal()
    link_clicked = Signal(str)
    painted = Signal()
    selection_changed = Signal()

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._stream = MarkdownStream()
        self._parts: list[TextView | CodeView] = []
        self._base = 0
        self._waiting = ""
        self._parsed: deque[_Run] = deque()
        self._marked: tuple[str, Sequence[Range]] = ("", ())
        self._is_tinted = False
        self._slices = QTimer(self)
        self._slices.setObjectName("markdown-slices")
        self._slices.setInterval(0)
        self._slices.timeout.connect(self._slice)
        # what grows below its contents is painted there alone
        self.setAttribute(Qt.WidgetAttribute.WA_StaticContents)

    @property
    def parts(self) -> Sequence[TextView | CodeView]:
        """The widgets shown, in order."""
        return tuple(self._parts)

    @property
    def is_building(self) -> bool:
        """Whether slices of a whole text are still to come."""
        return bool(self._waiting or self._parsed)

    def append(self, text: str, *, is_quiet: bool = False) -> None:
        """Add text and show it; to be throttled by the caller.

        ``is_quiet``: it is painted by ``refresh``, once everything stands where it belongs.
        """
        self._stream.append(text)
        self._show_runs(_runs(self._stream.look()), is_quiet=is_quiet)

    def grow(self, height: int) -> None:
        """Make room below for what was added quietly; that is painted by ``refresh``, too."""
        last = self._parts[-1] if self._parts else None
        is_quiet = isinstance(last, TextView) and last.is_stale
        self.setAttribute(Qt.WidgetAttribute.WA_UpdatesDisabled, is_quiet)
        self.resize(self.width(), height)
        self.setAttribute(Qt.WidgetAttribute.WA_UpdatesDisabled, False)  # noqa: FBT003 - Qt's signature

    def refresh(self) -> None:
        """Paint what was added quietly."""
        for part in self._parts:  # code that came whole may stand behind what changed
            if isinstance(part, TextView):
                part.refresh()

    def finish(self) -> None:
        """Freeze what is shown: no more text comes."""
        self._show_runs(_runs(self._stream.finish()))

    def set_text(self, text: str, *, is_patient: bool = False) -> None:
        """Show a whole text, the first slice at once and the rest as the event loop allows.

        ``is_patient``: nothing at once, and all of it by ``build``.
        """
        self.clear()
        self._waiting = text
        if not is_patient:
            self._slices.start()
            self._slice()

    def build(self) -> None:
        """Go one step on with a whole text: read the next slice, or show a part of what was read."""
        if self._parsed:
            run = self._parsed.popleft()
            self._show_runs([run])
        else:
            piece = self._waiting[:SLICE_CHARACTERS]
            self._waiting = self._waiting[SLICE_CHARACTERS:]
            self._stream.append(piece)
            is_last = not self._waiting
            growth = self._stream.finish() if is_last else self._stream.look_at_finished()
            self._parsed.extend(small for run in _runs(growth) for small in _small(run))
        if not self.is_building:
            self._slices.stop()
            self._tint()

    def tint(self, source: str, ranges: Sequence[Range]) -> None:
        """Tint what comes from ``ranges`` of ``source``, the text that is shown; () tints nothing.

        To be called again when text was added.
        """
        if ranges or self._marked[1]:
            self._marked = (source, ranges)
            self._tint()

    def clear(self) -> None:
        """Start over with an empty text."""
        self._slices.stop()
        self._waiting = ""
        self._parsed.clear()
        self._stream = MarkdownStream()
        self._base = 0
        self._drop_from(0)

    def tab_stops(self) -> list[QWidget]:
        """What the Tab key visits, in reading order."""
        return [stop for part in self._parts for stop in part.tab_stops()]

    def has_selection(self) -> bool:
        """Whether the reader has marked something."""
        return any(_text_of(part).has_selection() for part in self._parts)

    def height_for(self, width: int) -> int:
        """Place the parts for a width and return the height they need."""
        y = 0
        for part in self._parts:
            left = self._indent(part) if isinstance(part, CodeView) else 0
            height = part.height_for(width - left)
            y += self._look.px(GAP) if y else 0
            part.setGeometry(left, y, width - left, height)
            y += height
        return y

    def _indent(self, part: CodeView) -> int:
        place = part.block.place
        indent = place.quotes * QUOTE_INDENT + place.lists * INDENT
        return self._look.px(indent) if indent else 0

    def _slice(self) -> None:
        deadline = perf_counter_ns() + SLICE_NS
        while self.is_building:
            self.build()
            if not self._parsed and perf_counter_ns() > deadline:  # what was read is shown
                return
        self._slices.stop()

    def _tint(self) -> None:
        source, ranges = self._marked
        if not ranges and not self._is_tinted:
            return
        self._is_tinted = bool(ranges)
        texts = [_text_of(part) for part in self._parts]
        placed = place_ranges(
            source[:TINTED_CHARACTERS], ranges, [text.shown_text() for text in texts]
        )
        for text, marks in zip(texts, placed, strict=True):
            text.set_marks(marks)

    def _show_runs(self, runs: Sequence[_Run], *, is_quiet: bool = False) -> None:
        index = base = self._base
        if not self._joins(index, runs):
            index += self._close(index)
        for run in runs:
            part = self._part_at(index, is_code=run.code is not None)
            if isinstance(part, CodeView):
                assert run.code is not None
                part.set_code(run.code)
                base = index + 1 if run.is_final else base
            else:
                part.update_blocks(run.frozen, run.tail, is_quiet=is_quiet)
                base = index if run.frozen else base
            index += 1
        self._drop_from(index)
        self._base = base
        self.height_changed.emit()

    def _joins(self, index: int, runs: Sequence[_Run]) -> bool:
        """Whether the first run goes on in the last part that holds frozen text."""
        if not self._is_frozen_text(index):
            return True
        return bool(runs) and runs[0].code is None

    def _is_frozen_text(self, index: int) -> bool:
        part = self._parts[index] if index < len(self._parts) else None
        return isinstance(part, TextView) and part.has_frozen

    def _close(self, index: int) -> int:
        part = self._parts[index]
        assert isinstance(part, TextView)
        part.update_blocks((), ())
        return 1

    def _part_at(self, index: int, *, is_code: bool) -> TextView | CodeView:
        if index < len(self._parts):
            if isinstance(self._parts[index], CodeView) == is_code:
                return self._parts[index]
            self._drop_from(index)
        part: TextView | CodeView = (
            CodeView(self._look, self) if is_code else TextView(self._look, self)
        )
        text = _text_of(part)
        text.link_clicked.connect(self.link_clicked)
        text.painted.connect(self.painted)
        text.selectionChanged.connect(self.selection_changed)
        self._parts.append(part)
        part.show()
        return part

    def _drop_from(self, index: int) -> None:
        for part in self._parts[index:]:
            part.hide()
            part.deleteLater()
        del self._parts[index:]


def _text_of(part: TextView | CodeView) -> StillText:
    return part.code if isinstance(part, CodeView) else part


def _runs(growth: Growth) -> list[_Run]:
    runs: list[_Run] = []
    for block in growth.frozen:
        _add(runs, block, is_final=True)
    for block in growth.tail:
        _add(runs, block, is_final=False)
    return runs


def _small(run: _Run) -> list[_Run]:
    """The same in steps of a few blocks or rows; of a whole text nothing but code has a tail."""
    steps: list[_Run] = []
    few: list[TextBlock] = []
    for block in run.frozen:
        is_long = isinstance(block, Table) and len(block.rows) > SLICE_ROWS
        if few and (is_long or len(few) == SLICE_BLOCKS):
            steps.append(replace(run, frozen=few))
            few = []
        if isinstance(block, Table) and is_long:
            ends = (*range(SLICE_ROWS, len(block.rows), SLICE_ROWS), len(block.rows))
            parts = (replace(block, rows=block.rows[:end]) for end in ends)
            steps += [replace(run, frozen=[], tail=[part]) for part in parts]
        few.append(block)
    return [*steps, replace(run, frozen=few)]


def _add(runs: list[_Run], block: Block, *, is_final: bool) -> None:
    if isinstance(block, Code):
        runs.append(_Run(code=block, is_final=is_final))
        return
    if not runs or runs[-1].code is not None:
        runs.append(_Run())
    (runs[-1].frozen if is_final else runs[-1].tail).append(block)
