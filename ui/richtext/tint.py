"""Where ranges of a Markdown source stand in the text that is shown for it. Pure functions.

What is shown is the source less its markup, so it is found again in order: each word at the first
place after the word before it, or letter by letter where markup stands inside.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Range = tuple[int, int]
# how far after the last word the next one is looked for: a link's address may lie between
WINDOW = 2_000
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """``length`` characters that stand at ``shown`` and come from ``source``."""

    shown: int
    source: int
    length: int


def place_ranges(source: str, ranges: Sequence[Range], shown: Sequence[str]) -> list[list[Range]]:
    """For each of the texts shown one after the other, the ranges of ``source`` that it holds.

    ``ranges`` are in order and do not overlap, and neither do those that are returned.
    """
    placed = []
    at = first = 0
    for text in shown:
        marks: list[Range] = []
        for stretch in _stretches(source, text, at):
            at = stretch.source + stretch.length
            while first < len(ranges) and ranges[first][1] <= stretch.source:
                first += 1
            _mark(stretch, ranges, first, marks)
        placed.append(_joined(text, marks))
    return placed


def _stretches(source: str, text: str, at: int) -> Iterator[_Stretch]:
    for word in _WORD.finditer(text):
        place = source.find(word[0], at, at + WINDOW)
        if place >= 0:
            at = place + len(word[0])
            yield _Stretch(word.start(), place, len(word[0]))
            continue
        for index, letter in enumerate(word[0]):
            place = source.find(letter, at, at + WINDOW)
            if place >= 0:
                at = place + 1
                yield _Stretch(word.start() + index, place, 1)


def _mark(stretch: _Stretch, ranges: Sequence[Range], first: int, marks: list[Range]) -> None:
    """Add what of ``stretch`` lies in the ranges from ``first`` on."""
    end_of_stretch = stretch.source + stretch.length
    for index in range(first, len(ranges)):
        start, end = ranges[index]
        if start >= end_of_stretch:
            return
        low, high = max(start, stretch.source), min(end, end_of_stretch)
        if low < high:
            shift = stretch.shown - stretch.source
            marks.append((low + shift, high + shift))


def _joined(text: str, marks: Sequence[Range]) -> list[Range]:
    """Marks with nothing but white space of one line between them become one."""
    joined: list[Range] = []
    for start, end in marks:
        between = text[joined[-1][1] : start] if joined else "."
        if between.strip() or "\n" in between or "\u2029" in between:
            joined.append((start, end))
        else:
            joined[-1] = (joined[-1][0], end)
    return joined
