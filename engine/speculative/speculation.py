"""Drafter and pace together: what the scheduler asks.

Guesses are a convenience: a drafter that fails, for want of memory say, is never asked again, and
no answer ends for it.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from engine.errors import EngineError
from engine.metrics import Clock, now_ns
from engine.scheduling.drafting import Drafter, DraftQuery, Speculator
from engine.speculative.pace import SpeculationPace

_log = logging.getLogger(__name__)


class Speculation(Speculator):
    """As many guesses as pay, and none where none does."""

    def __init__(
        self, drafter: Drafter, pace: SpeculationPace | None = None, clock: Clock = now_ns
    ) -> None:
        self._drafter = drafter
        self._pace = SpeculationPace() if pace is None else pace
        self._clock = clock
        self._is_at_rest = False
        self._has_failed = False

    @override
    def drafts(self, queries: Sequence[DraftQuery]) -> list[tuple[int, ...]]:
        wanted = self._pace.lengths(tuple(query.request_id for query in queries))
        if wanted and self._pace.has_learned and not self._has_failed:
            self._is_at_rest = not any(wanted)
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
            self._has_failed = self._is_at_rest = True
            return [()] * len(queries)
        self._pace.note_drafting(sum(map(len, drafts)), self._clock() - start)
        return drafts

    @override
    def note_step(self, num_rows: int, duration_ns: int) -> None:
        self._pace.note_step(num_rows, duration_ns)

    @override
    def note_outcome(self, request_id: str, num_drafted: int, num_accepted: int) -> None:
        self._pace.note_outcome(request_id, num_drafted, num_accepted)

    @override
    def plain_step_ns(self) -> float | None:
        return self._pace.plain_step_ns()

    @property
    @override
    def is_at_rest(self) -> bool:
        return self._is_at_rest

    @override
    def forget(self, request_id: str) -> None:
        self._pace.forget(request_id)
        self._drafter.forget(request_id)
