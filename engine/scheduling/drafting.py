"""What the scheduler asks of a drafter, and what it tells it. Plain values; no torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.api import SamplingParams


@dataclass(frozen=True, slots=True)
class DraftQuery:
    """A request that is one token behind, and how many guesses it could use.

    ``known_ids`` is the request's live list: read it during the call, keep no reference.
    """

    request_id: str
    known_ids: Sequence[int]
    params: SamplingParams
    seed: int
    sample_index: int
    most: int


class Speculator(Protocol):
    """What the scheduler asks: how many guesses, which ones, and whether they paid."""

    def drafts(self, queries: Sequence[DraftQuery]) -> list[tuple[int, ...]]:
        """For each query as many guesses as pay, at most ``most``, maybe none."""
        ...

    def note_step(self, num_rows: int, duration_ns: int) -> None:
        """A step that only decoded took this long, for so many rows, guesses included.

        Its outcomes follow, before anything else is asked or told.
        """
        ...

    def note_outcome(self, request_id: str, num_drafted: int, num_accepted: int) -> None:
        """So many of the request's guesses were right."""
        ...

    def forget(self, request_id: str) -> None:
        """The request has ended."""
        ...

    def plain_step_ns(self) -> float | None:
        """What a step of one token costs without guesses; None before any was seen."""
        ...

    @property
    def is_at_rest(self) -> bool:
        """Whether guesses were not worth their cost at the last look."""
        ...


class Drafter(Protocol):
    """Guesses the tokens that follow."""

    def propose(self, queries: Sequence[DraftQuery]) -> list[tuple[int, ...]]:
        """For each query up to ``most`` guesses, maybe none."""
        ...

    def forget(self, request_id: str) -> None:
        """The request has ended; nothing about it is needed any more."""
        ...
