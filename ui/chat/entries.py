"""The messages of a conversation as the list lays them out: heights, tops, live texts.

Plain values and arithmetic; the widgets are only carried.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from ui.chat.message_item import MessageItem
from ui.chat.rows import MessageRow, MessageStatus, Reasoning

_CHARACTER_WIDTH = 7.4
_LINE_HEIGHT = 22
_OVERHEAD = 64


@dataclass(slots=True)
class Entry:
    """One message.

    ``arrived_ns`` is when its newest token was chosen, ``shown_ns`` that of the text that is shown,
    ``painted_ns`` that of the text that was painted; 0: not known.

    ``height`` is that of a column ``measured_width`` px wide (0: to be measured again); without an
    item it may be an estimate.
    """

    row: MessageRow
    text: str
    height: int = 0
    measured_width: int = 0
    item: MessageItem | None = None
    unshown: list[str] = field(default_factory=list)
    progress: tuple[str, float | None] | None = None
    is_painted: bool = False
    reasoning: Reasoning | None = None
    guessed: list[tuple[int, int]] = field(default_factory=list)
    has_unshown_reasoning: bool = False
    is_reasoning_open: bool = False
    arrived_ns: int = 0
    shown_ns: int = 0
    painted_ns: int = 0

    @property
    def is_streaming(self) -> bool:
        """Whether more text may come."""
        return self.row.status is MessageStatus.STREAMING

    @property
    def has_fresh_text(self) -> bool:
        """Whether any text or reasoning has come since the answer was begun or continued."""
        is_longer = bool(self.unshown) or len(self.text) > len(self.row.text)
        return is_longer or self.reasoning != self.row.reasoning

    @property
    def has_unshown(self) -> bool:
        """Whether something waits to be shown."""
        return bool(self.unshown) or self.has_unshown_reasoning

    def current_row(self) -> MessageRow:
        """The row with all text that has arrived."""
        if not self.is_streaming:
            return self.row
        return replace(
            self.row, text=self.text, reasoning=self.reasoning, guessed=tuple(self.guessed)
        )

    def set_row(self, row: MessageRow) -> None:
        """Take another state of the message."""
        self.row, self.text = row, row.text
        self.reasoning, self.guessed = row.reasoning, list(row.guessed)
        self.has_unshown_reasoning = False

    def add(self, text: str, guessed: Sequence[tuple[int, int]], chosen_ns: int = 0) -> None:
        """Keep streamed text until it is shown; ``guessed`` are ranges of it."""
        self.arrived_ns = max(self.arrived_ns, chosen_ns)
        start = len(self.text) + sum(map(len, self.unshown))
        self.guessed += [(start + first, start + end) for first, end in guessed]
        self.unshown.append(text)

    def set_reasoning(self, reasoning: Reasoning) -> None:
        """Keep a longer reasoning until it is shown."""
        self.reasoning, self.has_unshown_reasoning = reasoning, True

    def take_unshown(self) -> str:
        """Move what waits to be shown into the text, and return it."""
        fresh = "".join(self.unshown)
        self.unshown.clear()
        self.text += fresh
        self.shown_ns = self.arrived_ns
        return fresh

    def take_paint(self) -> int:
        """When the newest token of a text that was painted just now was chosen; 0: no news."""
        if self.shown_ns <= self.painted_ns:
            return 0
        self.painted_ns = self.shown_ns
        return self.painted_ns


class Entries:
    """The messages in order, with the running sum of their heights."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._index: dict[int, int] = {}
        self._bottoms: list[int] = []

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: int) -> Entry:
        return self._entries[index]

    def find(self, message_id: int) -> Entry | None:
        """The entry of a message; None when the page does not show it (any more)."""
        index = self._index.get(message_id)
        return None if index is None else self._entries[index]

    def set_rows(self, rows: Sequence[MessageRow]) -> None:
        """Begin anew."""
        self._entries = [_entry(row) for row in rows]
        self._index = {row.message_id: index for index, row in enumerate(rows)}

    def append(self, row: MessageRow) -> Entry:
        """Add a message at the end."""
        entry = _entry(row)
        self._index[row.message_id] = len(self._entries)
        self._entries.append(entry)
        return entry

    def measure(self, width: int, zoom: float, *, keeps_estimates: bool = False) -> None:
        """Bring all heights up to date for a column ``width`` px wide.

        ``keeps_estimates``: what is still being built keeps the room it is thought to need, so that
        what stands below it does not move with every slice.
        """
        for entry in self._entries:
            if entry.measured_width == width:
                continue
            entry.measured_width = width
            item = entry.item
            if item is None:
                entry.height = _estimate(entry.text, width, zoom)
                continue
            entry.height = item.height_for(width)
            if keeps_estimates and item.is_building:
                entry.height = max(entry.height, _estimate(entry.text, width, zoom))
        self._bottoms = list(accumulate(entry.height for entry in self._entries))

    @property
    def total_height(self) -> int:
        """Height of all messages together."""
        return self._bottoms[-1] if self._bottoms else 0

    def top(self, index: int) -> int:
        """Where a message begins."""
        return self._bottoms[index - 1] if index else 0

    def at(self, y: int) -> int:
        """The message at a height; the last one below the end."""
        return min(bisect_right(self._bottoms, y), len(self._entries) - 1)

    def between(self, top: int, bottom: int) -> range:
        """The messages that touch a range of heights."""
        if not self._entries:
            return range(0)
        return range(self.at(max(0, top)), self.at(max(0, bottom)) + 1)


def _entry(row: MessageRow) -> Entry:
    entry = Entry(row, row.text)
    entry.set_row(row)
    return entry


def _estimate(text: str, width: int, zoom: float) -> int:
    """A message's likely height, from its characters and lines."""
    a_line = max(8.0, width / (_CHARACTER_WIDTH * zoom))
    lines = len(text) / a_line + 0.7 * text.count("\n") + 1
    return round((lines * _LINE_HEIGHT + _OVERHEAD) * zoom)
