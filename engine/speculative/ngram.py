"""Prompt lookup: what followed the last few tokens where they stood before.

Costs next to nothing and pays where answers repeat what was read: code, quotations, lists,
summaries. (Saxena, "Prompt lookup decoding", 2023.)
"""

from collections.abc import Sequence

from typing_extensions import override

from engine.scheduling.drafting import Drafter, DraftQuery

# Longer matches are more often right; one token alone is followed by anything.
_SIZES = (4, 3, 2)


class _Index:
    """Where each n-gram of one request was last followed by a token.

    Grows with the request, a few dictionary entries a token; tokens once known never change.
    """

    def __init__(self) -> None:
        self._next_of: dict[tuple[int, ...], int] = {}
        self._num_indexed = 0

    def extend(self, known_ids: Sequence[int]) -> None:
        """Take in every token but the last, which nothing follows yet."""
        for place in range(max(self._num_indexed, 1), len(known_ids)):
            for size in _SIZES:
                if place >= size:
                    self._next_of[tuple(known_ids[place - size : place])] = place
        self._num_indexed = len(known_ids)

    def find(self, known_ids: Sequence[int]) -> int | None:
        """The place after the latest earlier occurrence of the longest known ending."""
        for size in _SIZES:
            place = self._next_of.get(tuple(known_ids[-size:]))
            if place is not None and len(known_ids) > size:
                return place
        return None


class NgramDrafter(Drafter):
    """One index a request. Not thread-safe: the engine thread's own."""

    def __init__(self) -> None:
        self._indices: dict[str, _Index] = {}

    @override
    def propose(self, queries: Sequence[DraftQuery]) -> list[tuple[int, ...]]:
        return [self._propose(query) for query in queries]

    @override
    def forget(self, request_id: str) -> None:
        self._indices.pop(request_id, None)

    def _propose(self, query: DraftQuery) -> tuple[int, ...]:
        known_ids = query.known_ids
        index = self._indices.setdefault(query.request_id, _Index())
        index.extend(known_ids)
        place = index.find(known_ids)
        if place is None or query.most <= 0:
            return ()
        guesses: list[int] = []
        # a text that repeats itself goes on into its own guesses
        for offset in range(place, place + query.most):
            late = offset - len(known_ids)
            guesses.append(known_ids[offset] if late < 0 else guesses[late])
        return tuple(guesses)
