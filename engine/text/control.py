"""Control tokens written as text: where they stand, and how to keep a text from holding one.

Knows the strings and ids of control tokens only. A *guard* is a Unicode noncharacter put inside
what a user typed: it breaks up anything that reads as a control token until the prompt has been
cut at the real ones, and is taken out again before the rest is encoded.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

# Noncharacters: no text meant for exchange contains them.
_GUARDS = tuple(map(chr, range(0xFDD0, 0xFDF0)))


class ControlTokens:
    """The control tokens of one vocabulary. One-character tokens are never looked for in text."""

    def __init__(
        self, ids: Mapping[str, int], strips: Mapping[str, tuple[bool, bool]] | None = None
    ) -> None:
        """``strips``: tokens that swallow white space on their left, on their right."""
        self._ids = {text: token_id for text, token_id in ids.items() if len(text) > 1}
        self._strips = dict(strips or {})
        self._lengths = sorted({len(text) for text in self._ids}, reverse=True)
        self._start = _any_of({text[0] for text in self._ids})
        self._last = _any_of({text[-1] for text in self._ids})
        self.strings = frozenset(self._ids)

    def split(self, text: str) -> Iterator[tuple[str, int | None]]:
        """The text in order: plain stretches (id None) and control tokens; longest match wins."""
        start = 0
        strip_left = False
        for at, special in self._find(text):
            left, right = self._strips.get(special, (False, False))
            plain = text[start:at]
            plain = plain.lstrip() if strip_left else plain
            plain = plain.rstrip() if left else plain
            if plain:
                yield plain, None
            yield special, self._ids[special]
            start, strip_left = at + len(special), right
        rest = text[start:].lstrip() if strip_left else text[start:]
        if rest:
            yield rest, None

    def shield(self, text: str, guard: str) -> str:
        """``text`` with ``guard`` wherever it could be read as a control token.

        Also where it could become one together with text before or after it.
        """
        breaks = [at + 1 for at, _ in self._starts(text)]
        parts = [text[a:b] for a, b in zip([0, *breaks], [*breaks, len(text)], strict=True)]
        shielded = guard.join(parts)
        if self._ends_inside(text):
            shielded += guard
        if self._begins_inside(text):
            shielded = guard + shielded
        return shielded

    def _ends_inside(self, text: str) -> bool:
        """Whether ``text`` ends with the beginning of a control token."""
        longest = self._lengths[0] if self._lengths else 0
        if self._start is None or not self._start.search(text, max(0, len(text) - longest)):
            return False
        return any(text[-n:] in self._beginnings for n in range(1, min(longest, len(text) + 1)))

    def _begins_inside(self, text: str) -> bool:
        """Whether ``text`` begins with the ending of a control token."""
        longest = self._lengths[0] if self._lengths else 0
        if self._last is None or not self._last.search(text, 0, longest):
            return False
        return any(text[:n] in self._endings for n in range(1, min(longest, len(text) + 1)))

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        return frozenset(text[:n] for text in self._ids for n in range(1, len(text)))

    @cached_property
    def _endings(self) -> frozenset[str]:
        return frozenset(text[n:] for text in self._ids for n in range(1, len(text)))

    def _starts(self, text: str) -> Iterator[tuple[int, str]]:
        """Every place a control token begins, overlapping ones too, with the longest there."""
        if self._start is None:
            return
        ids = self._ids
        for match in self._start.finditer(text):
            at = match.start()
            for length in self._lengths:
                special = text[at : at + length]
                if special in ids:
                    yield at, special
                    break

    def _find(self, text: str) -> Iterator[tuple[int, str]]:
        end = 0
        for at, special in self._starts(text):
            if at >= end:
                end = at + len(special)
                yield at, special


def unused_guard(texts: Iterable[str]) -> str | None:
    """A noncharacter that stands in none of ``texts``; None when they hold all of them."""
    held = list(texts)
    return next((g for g in _GUARDS if not any(g in text for text in held)), None)


def _any_of(chars: Iterable[str]) -> re.Pattern[str] | None:
    """Finds any of ``chars``; None of nothing."""
    choice = "".join(sorted(chars))
    return re.compile(f"[{re.escape(choice)}]") if choice else None
