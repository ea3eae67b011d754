"""Where each chip stands: from left to right, lines broken where the width or the text ends.

Geometry only, kept as plain lists so that thousands of chips take a moment: widths are measured
once, a new width of the view only breaks the lines anew.
"""

from bisect import bisect_right
from collections.abc import Sequence

from PySide6.QtCore import QRectF


class ChipLayout:
    """Chips by their place in a sequence. All lines are equally high."""

    def __init__(self, gap: float, line_height: float) -> None:
        self._gap = gap
        self._line_height = line_height
        self._widths: list[float] = []
        self._breaks: list[bool] = []
        self._room = 0.0
        self._lefts: list[float] = []
        # where each line begins, and at the end how many chips there are
        self._line_starts: list[int] = [0]

    def add(self, widths: Sequence[float], breaks: Sequence[bool]) -> None:
        """Place these behind the others; behind those with a break a new line begins."""
        first = len(self._widths)
        self._widths += widths
        self._breaks += breaks
        self._place(first)

    def set_room(self, room: float) -> None:
        """Change the width of the lines."""
        if room != self._room:
            self._room = room
            self._lefts, self._line_starts = [], [0]
            self._place(0)

    @property
    def num_chips(self) -> int:
        """How many there are."""
        return len(self._lefts)

    @property
    def num_lines(self) -> int:
        """Lines they take."""
        return len(self._line_starts) - 1

    @property
    def height(self) -> float:
        """What all lines take."""
        return self.num_lines * self._line_height

    def rect(self, place: int) -> QRectF:
        """One chip, without the gaps around it."""
        top = self.line_of(place) * self._line_height
        width = min(self._widths[place], self._room)
        return QRectF(
            self._lefts[place], top + self._gap / 2, width, self._line_height - self._gap
        )

    def line_of(self, place: int) -> int:
        """The line a chip stands in."""
        return bisect_right(self._line_starts, place) - 1

    def places_between(self, top: float, bottom: float) -> range:
        """The chips of all lines that reach between two heights."""
        first = max(0, min(int(top // self._line_height), self.num_lines))
        end = max(first, min(int(bottom // self._line_height) + 1, self.num_lines))
        return range(self._line_starts[first], self._line_starts[end])

    def at(self, x: float, y: float) -> int | None:
        """The chip at a point; None between them."""
        line = int(y // self._line_height)
        if y < 0 or not 0 <= line < self.num_lines:
            return None
        place = self._in_line(line, x)
        inside = self._lefts[place] <= x < self._lefts[place] + self._widths[place]
        return place if inside else None

    def beside(self, place: int, lines: int) -> int:
        """The chip some lines below (or above, for less than 0) a chip, in the same column."""
        line = max(0, min(self.line_of(place) + lines, self.num_lines - 1))
        middle = self._lefts[place] + min(self._widths[place], self._room) / 2
        return self._in_line(line, middle)

    def _in_line(self, line: int, x: float) -> int:
        """The chip of a line that begins last before ``x``."""
        start, end = self._line_starts[line], self._line_starts[line + 1]
        return max(start, bisect_right(self._lefts, x, start, end) - 1)

    def _place(self, first: int) -> None:
        """Break the chips from ``first`` on into lines, behind those that are in lines."""
        gap, room, lefts, starts = self._gap, self._room, self._lefts, self._line_starts
        x, is_new = 0.0, False
        if first:
            x = lefts[-1] + self._widths[first - 1] + gap
            is_new = self._breaks[first - 1]
            starts.pop()
        for place in range(first, len(self._widths)):
            width = self._widths[place]
            if is_new or (x and x + width > room):
                starts.append(place)
                x = 0.0
            lefts.append(x)
            x += width + gap
            is_new = self._breaks[place]
        if lefts:
            starts.append(len(lefts))
