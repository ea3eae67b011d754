"""How many tokens a draft model reads at once, so that no answer waits for it.

A draft model is asked between two steps, and all streams halt meanwhile. Learns its speed from its
own passes; knows no request.
"""

_TARGET_NS = 30_000_000  # less than the eye sees as a halt
_FIRST = 16
_LEAST = 4  # faster than an answer grows
_GROWTH = 4  # a short pass says little about a long one


class ReadingPace:
    """Sizes of a draft model's passes over what it has not read yet."""

    def __init__(self, largest: int) -> None:
        """``largest``: the most tokens a pass may have."""
        self._largest = largest
        self._chunk = min(_FIRST, largest)

    @property
    def chunk(self) -> int:
        """Tokens that the next pass may read."""
        return self._chunk

    def note(self, num_tokens: int, duration_ns: int) -> None:
        """A pass over so many tokens took this long; short ones tell nothing and are left out."""
        if num_tokens < self._chunk // 2 or num_tokens < _LEAST or duration_ns <= 0:
            return
        affordable = num_tokens * _TARGET_NS // duration_ns
        grown = min(affordable, _GROWTH * self._chunk, self._largest)
        self._chunk = max(min(_LEAST, self._largest), grown)
