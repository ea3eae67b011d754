"""How many guesses pay: learned from what steps cost and how often guesses were right.

A step of r rows is taken to cost ``base + slope * r``; both are fitted to the decode steps seen,
newer ones counting more. A guess that is the j-th of its row is right with a probability of about
a^j, where a is the request's rate of acceptance. Guesses are added while one more raises the
tokens expected over the time expected:

    gain / cost  =  a^j / (slope + draft)  >  tokens / time  of the step without it

That is a forecast. Whether guessing pays at all is measured beside it, for each number of requests
that decode together (``engine.speculative.trial``).
"""

from dataclasses import dataclass

from engine.speculative.trial import Trial

_MOST = 16  # guesses a request and step
_HOPE = 0.6  # acceptance assumed of a request that nothing is known of
_MEMORY = 0.9  # weight of the past in each mean
_RECOVERY = 1 / 48  # how fast a request that drafts nothing is hoped for again
_CAUTION = 0.125  # of a one-row step, what another row is taken to cost before it was tried


@dataclass(slots=True)
class _Line:
    """Least squares of y = base + slope x over a fading past: the weighted sums it takes."""

    weight: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0

    def note(self, x: float, y: float) -> None:
        """See one pair."""
        self.weight = self.weight * _MEMORY + 1
        self.x = self.x * _MEMORY + x
        self.y = self.y * _MEMORY + y
        self.xx = self.xx * _MEMORY + x * x
        self.xy = self.xy * _MEMORY + x * y

    @property
    def slope(self) -> float:
        """Never negative. While only one x was seen, a cautious share of y."""
        spread = self.weight * self.xx - self.x * self.x
        if spread <= 1e-6 * self.weight * self.xx:
            return _CAUTION * self.y / self.x if self.x else 0.0
        return max(0.0, (self.weight * self.xy - self.x * self.y) / spread)

    def at(self, x: float) -> float:
        """The line's y, at least 0; 0 before anything was seen."""
        if not self.weight:
            return 0.0
        return max(0.0, self.y / self.weight + self.slope * (x - self.x / self.weight))


@dataclass(slots=True)
class _Record:
    """One request's luck."""

    acceptance: float = _HOPE
    num_drafted: int = 0
    num_accepted: int = 0


class SpeculationPace:
    """Chooses draft lengths. Times in ns; not thread-safe."""

    def __init__(self) -> None:
        self._step = _Line()
        self._draft_ns = 0.0
        self._records: dict[str, _Record] = {}
        self._trials: dict[int, Trial] = {}
        self._is_at_rest = False

    @property
    def is_at_rest(self) -> bool:
        """Whether guesses were not worth their cost at the last look."""
        return self._is_at_rest

    def lengths(self, request_ids: tuple[str, ...]) -> list[int]:
        """How many guesses to ask for, for each of the requests that decode together."""
        rows = len(request_ids)
        if not rows:
            return []
        if not self.has_learned:
            return [0] * rows  # the first step shows what one costs without guesses
        trial = self._trials.setdefault(rows, Trial())
        if any(request_id not in self._records for request_id in request_ids):
            trial.welcome()
        if not trial.wants_guesses:
            self._is_at_rest = trial.is_at_rest or self._is_at_rest
            if trial.is_at_rest:  # what they are worth by its end is not known
                for request_id in request_ids:
                    self._recover(request_id)
            return [0] * rows
        lengths = self._forecast(request_ids)
        self._is_at_rest = not any(lengths)
        return lengths

    def _forecast(self, request_ids: tuple[str, ...]) -> list[int]:
        """The lengths of the highest expected speed."""
        cost = self._step.slope + self._draft_ns
        rows = len(request_ids)
        tokens, time = float(rows), self._step.at(rows)
        lengths = []
        for request_id in request_ids:
            acceptance = self._record(request_id).acceptance
            chance, length = acceptance, 0
            while length < _MOST and chance * time > cost * tokens:
                tokens, time = tokens + chance, time + cost
                chance, length = chance * acceptance, length + 1
            lengths.append(length)
            if not length:
                self._recover(request_id)
        return lengths

    def note_step(self, num_rows: int, duration_ns: int) -> None:
        """Learn from a step that only decoded: its rows, guesses included, and its time."""
        if num_rows > 0 and duration_ns > 0:
            self._step.note(num_rows, duration_ns)

    def note_round(self, num_requests: int, num_drafted: int, num_right: int, ns: int) -> None:
        """Learn what a step gave: its requests' tokens and right guesses, in that time.

        ``ns``: the step's, and what its guesses took to make.
        """
        if num_requests <= 0 or ns <= 0:
            return
        trial = self._trials.setdefault(num_requests, Trial())
        if num_drafted:
            trial.note_guessed((num_requests + num_right) / num_requests, ns)
        else:
            trial.note_plain(ns)

    def note_drafting(self, num_tokens: int, duration_ns: int) -> None:
        """Learn what a guess costs."""
        if num_tokens > 0:
            newest = duration_ns / num_tokens
            self._draft_ns += (newest - self._draft_ns) * (1 - _MEMORY)

    def note_outcome(self, request_id: str, num_drafted: int, num_accepted: int) -> None:
        """Learn how many of a draft's guesses were right, from the first on."""
        record = self._record(request_id)
        record.num_drafted += num_drafted
        record.num_accepted += num_accepted
        # each guess up to the first wrong one was a trial
        for trial in range(min(num_accepted + 1, num_drafted)):
            was_right = float(trial < num_accepted)
            record.acceptance += (was_right - record.acceptance) * (1 - _MEMORY)

    def counts(self, request_id: str) -> tuple[int, int]:
        """Guesses verified and accepted so far."""
        record = self._record(request_id)
        return record.num_drafted, record.num_accepted

    @property
    def has_learned(self) -> bool:
        """Whether a step was seen, so that lengths are chosen by what they cost."""
        return self._step.weight > 0

    def plain_step_ns(self) -> float | None:
        """What a step of one token costs without guesses; None before any was seen."""
        return self._step.at(1) if self._step.weight else None

    def forget(self, request_id: str) -> None:
        """The request has ended."""
        self._records.pop(request_id, None)

    def _record(self, request_id: str) -> _Record:
        return self._records.setdefault(request_id, _Record())

    def _recover(self, request_id: str) -> None:
        record = self._record(request_id)
        record.acceptance += (_HOPE - record.acceptance) * _RECOVERY
