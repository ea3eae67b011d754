"""Whether guessing pays, by the clock: steps with guesses against steps without, taken in turn.

Of steps that serve equally many requests, those with guesses give t tokens a request in a time d,
those without one token in a time p. The gain is p x mean(t) / mean(d); its logarithm is uncertain
by the scatter of t / mean(t) - d / mean(d) and of p (the delta method for a ratio of means). The
past fades, as steps grow dearer with the context and texts change.

Guessing rests as soon as the gain is surely below 1, and, so that a small steady loss does not go
on for ever, where a long trial has not shown it to be above. It is tried again after a rest; rests
grow longer each time, and shorter when a new request begins.
"""

import math
from dataclasses import dataclass, field

_LEAST = 12  # steps with guesses before a verdict
_LEAST_PLAIN = 4
_FIRST_TRIAL = 96  # steps with guesses that may stay without a sure verdict
_LATER_TRIAL = 48
_FIRST_REST = 64  # steps
_LONGEST_REST = 4096
_TURN = 4  # steps with guesses to one without while little is known,
_LONG_TURN = 24  # and once they pay
_SURE = 2.0  # standard errors; a trial is judged again and again, so more than for one look
_OUTLIER = 4.0  # times the mean: what another program did to a step
_HOPE = 1.25  # gain of one step that is taken for seen, so that a few unlucky ones prove nothing


@dataclass(slots=True)
class _Sums:
    """Weighted sums of pairs (x, y) over a fading past."""

    memory: float
    weight: float = 0.0
    squares: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    yy: float = 0.0
    xy: float = 0.0

    def note(self, x: float, y: float) -> None:
        """See one pair."""
        m = self.memory
        self.weight = self.weight * m + 1
        self.squares = self.squares * m * m + 1
        self.x = self.x * m + x
        self.y = self.y * m + y
        self.xx = self.xx * m + x * x
        self.yy = self.yy * m + y * y
        self.xy = self.xy * m + x * y

    @property
    def mean_y(self) -> float:
        """The mean of y."""
        return self.y / self.weight

    @property
    def ratio(self) -> float:
        """The mean of x over that of y."""
        return self.x / self.y

    @property
    def uncertainty(self) -> float:
        """Variance of the logarithm of ``ratio``."""
        x, y, w = self.x / self.weight, self.y / self.weight, self.weight
        scatter = self.xx / w / x**2 + self.yy / w / y**2 - 2 * self.xy / w / (x * y)
        count = w * w / self.squares
        return max(0.0, scatter) / max(1.0, count - 1)


@dataclass(slots=True)
class Trial:
    """The verdict on guessing where so many requests decode together. Times in ns."""

    _plain: _Sums = field(default_factory=lambda: _Sums(0.97))
    _guessed: _Sums = field(default_factory=lambda: _Sums(0.99))
    _num_plain: int = 0
    _num_guessed: int = 0  # in this trial
    _longest: int = _FIRST_TRIAL
    _since_plain: int = 0
    _turn: int = _TURN
    _rest: int = _FIRST_REST  # how long the next one will be
    _left: int = 0  # of the present one

    @property
    def is_at_rest(self) -> bool:
        """Whether guesses did not pay, and are not tried again yet."""
        return self._left > 0

    @property
    def wants_guesses(self) -> bool:
        """Whether the next step may have guesses: not at rest, and none without is due."""
        return not self._left and self._since_plain < self._turn

    def note_plain(self, duration_ns: float) -> None:
        """A step without guesses."""
        self._plain.note(1.0, self._usual(self._plain, duration_ns))
        self._num_plain += 1
        self._since_plain = 0
        self._left = max(0, self._left - 1)

    def note_guessed(self, tokens: float, duration_ns: float) -> None:
        """A step with guesses that gave ``tokens`` a request, guessing included in its time."""
        self._since_plain += 1
        if not self._num_plain:
            return  # nothing to compare it with
        if not self._guessed.weight:
            self._guessed.note(_HOPE, self._plain.mean_y)
        self._guessed.note(tokens, self._usual(self._guessed, duration_ns))
        self._num_guessed += 1
        self._judge()

    def gain(self) -> tuple[float, float, float] | None:
        """The speed with guesses over that without: at least, likely, at most.

        None before both kinds of steps were seen.
        """
        if not self._guessed.weight or not self._plain.weight:
            return None
        likely = self._guessed.ratio * self._plain.mean_y
        error = math.sqrt(self._guessed.uncertainty + self._plain.uncertainty)
        span = math.exp(_SURE * error)
        return likely / span, likely, likely * span

    def welcome(self) -> None:
        """A new request: its text may be one that repeats itself."""
        self._rest = _FIRST_REST
        self._left = min(self._left, _FIRST_REST)

    def _judge(self) -> None:
        gain = self.gain()
        if gain is None or self._num_guessed < _LEAST or self._num_plain < _LEAST_PLAIN:
            return
        least, likely, most = gain
        is_over = self._num_guessed >= self._longest
        if most < 1 or (is_over and likely < 1):
            self._left = self._rest
            self._rest = min(2 * self._rest, _LONGEST_REST)
            self._begin(_LATER_TRIAL)
            self._guessed = _Sums(self._guessed.memory)
        elif least > 1 or is_over:
            self._rest = _FIRST_REST
            self._begin(_FIRST_TRIAL)
            self._turn = _LONG_TURN

    def _begin(self, longest: int) -> None:
        self._num_guessed, self._longest, self._turn = 0, longest, _TURN

    @staticmethod
    def _usual(sums: _Sums, duration_ns: float) -> float:
        """The duration, less what is out of all proportion to those before."""
        return min(duration_ns, _OUTLIER * sums.mean_y) if sums.weight else duration_ns
