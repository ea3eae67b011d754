"""Drafter and pace together: what the scheduler asks.

Guesses are a convenience: a drafter that fails, for want of memory say, is never asked again, and
no answer ends for it.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from typing_extensions import override

from engine.errors import EngineError
from engine.metrics import Clock, now_ns
from engine.scheduling.drafting import Drafter, DraftQuery, Speculator
from engine.speculative.pace import SpeculationPace

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Round:
    """A step that only decoded, while its outcomes come in."""

    num_rows: int
    duration_ns: int
    num_drafted: int = 0
    num_right: int = 0


class Speculation(Speculator):
    """As many guesses as pay, and none where none does."""

    def __init__(
        self, drafter: Drafter, pace: SpeculationPace | None = None, clock: Clock = now_ns
    ) -> None:
        self._drafter = drafter
        self._pace = SpeculationPace() if pace is None else pace
        self._clock = clock
        self._round: _Round | None = None
        self._drafting_ns = 0  # of the guesses of the step to come
        self._has_failed = False

    @override
    def drafts(self, queries: Sequence[DraftQuery]) -> list[tuple[int, ...]]:
        self._close_round()
        self._drafting_ns = 0
        wanted = self._pace.lengths(tuple(query.request_id for query in queries))
        capped = [
            replace(query, most=min(query.most, length))
            for query, length in zip(queries, wanted, strict=True)
        ]
        if self._has_failed or not any(query.most for query in capped):
            return [()] * len(queries)
        start = self._clock()
        try:
            drafts = self._drafter.propose(capped)
        except (EngineError, RuntimeError, MemoryError):
            _log.exception("Guessing ahead failed and is given up; answers go on without it")
            self._has_failed = True
            return [()] * len(queries)
        if any(drafts):
            self._drafting_ns = self._clock() - start
            self._pace.note_drafting(sum(map(len, drafts)), self._drafting_ns)
        return drafts

    @override
    def note_step(self, num_rows: int, duration_ns: int) -> None:
        self._close_round()
        self._pace.note_step(num_rows, duration_ns)
        self._round = _Round(num_rows, duration_ns)

    @override
    def note_outcome(self, request_id: str, num_drafted: int, num_accepted: int) -> None:
        self._pace.note_outcome(request_id, num_drafted, num_accepted)
        if self._round is not None:
            self._round.num_drafted += num_drafted
            self._round.num_right += num_accepted

    @override
    def plain_step_ns(self) -> float | None:
        return self._pace.plain_step_ns()

    @property
    @override
    def is_at_rest(self) -> bool:
        return self._has_failed or self._pace.is_at_rest

    @override
    def forget(self, request_id: str) -> None:
        self._pace.forget(request_id)
        self._drafter.forget(request_id)

    def _close_round(self) -> None:
        """All outcomes of the latest step are in."""
        latest, self._round = self._round, None
        if latest is None:
            return
        num_requests = latest.num_rows - latest.num_drafted
        ns = latest.duration_ns + (self._drafting_ns if latest.num_drafted else 0)
        self._pace.note_round(num_requests, latest.num_drafted, latest.num_right, ns)
