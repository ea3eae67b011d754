"""Inter-token latency of one answer: gaps between the times at which the engine chose tokens.

Plain Python. Times are readings of ``time.perf_counter_ns()`` in order; the percentiles cover
the latest ``window`` gaps, the rate and the maximum the whole answer.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

DEFAULT_WINDOW = 1024


@dataclass(frozen=True, slots=True)
class ItlFigures:
    """Gaps in nanoseconds; ``tokens_per_s`` is (n - 1) / (t_last - t_first).

    ``is_shared``: steps often give several tokens at once, between which there is no gap;
    ``now_ns`` is then the mean gap, else the latest.
    """

    now_ns: int
    p50_ns: float
    p95_ns: float
    max_ns: int
    tokens_per_s: float
    is_shared: bool = False


def percentile(ordered: Sequence[float], fraction: float) -> float:
    """Linear interpolation between the closest ranks of sorted, non-empty values."""
    position = (len(ordered) - 1) * fraction
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


class RollingItl:
    """Collects token times of one answer; ``clear`` before the next."""

    def __init__(self, window: int = DEFAULT_WINDOW) -> None:
        self._gaps: deque[int] = deque(maxlen=window)
        self._first_ns: int | None = None
        self._last_ns = 0
        self._num_tokens = 0
        self._max_ns = 0

    @property
    def num_tokens(self) -> int:
        """Tokens seen since the last ``clear``."""
        return self._num_tokens

    @property
    def first_ns(self) -> int | None:
        """When the answer's first token was chosen; None before it."""
        return self._first_ns

    def clear(self) -> None:
        """Forget the answer."""
        self._gaps.clear()
        self._first_ns = None
        self._num_tokens = 0
        self._max_ns = 0

    def add(self, times_ns: Sequence[int]) -> list[int]:
        """Take in the times of new tokens, oldest first; returns the gaps they closed."""
        gaps: list[int] = []
        for time_ns in times_ns:
            if self._first_ns is None:
                self._first_ns = time_ns
            else:
                gaps.append(time_ns - self._last_ns)
            self._last_ns = time_ns
        self._num_tokens += len(times_ns)
        if gaps:
            self._gaps.extend(gaps)
            self._max_ns = max(self._max_ns, *gaps)
        return gaps

    def figures(self) -> ItlFigures | None:
        """The distribution so far; None below two tokens."""
        if not self._gaps or self._first_ns is None or self._last_ns <= self._first_ns:
            return None
        ordered = sorted(self._gaps)
        span_ns = self._last_ns - self._first_ns
        now_ns, is_shared = self._gaps[-1], ordered[len(ordered) // 10] <= 0
        return ItlFigures(
            now_ns=span_ns // (self._num_tokens - 1) if is_shared else now_ns,
            p50_ns=percentile(ordered, 0.50),
            p95_ns=percentile(ordered, 0.95),
            max_ns=self._max_ns,
            tokens_per_s=(self._num_tokens - 1) * 1e9 / span_ns,
            is_shared=is_shared,
        )
