"""The range of an axis, where a value lies in it, and round places for its ticks.

Pure arithmetic: knows no pixels, no units and no words.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_NICE = (1.0, 2.0, 5.0, 10.0)
_LEAST_DECADE = 1.5  # a log axis spans at least so many times its beginning


@dataclass(frozen=True, slots=True)
class Span:
    """From ``low`` to ``high``, which is above it; with ``is_log`` both are above 0."""

    low: float
    high: float
    is_log: bool = False

    def part(self, value: float) -> float:
        """Where a value lies: 0 at the beginning, 1 at the end, beyond these outside."""
        if not self.is_log:
            return (value - self.low) / (self.high - self.low)
        least = self.low / 1e6
        ratio = math.log(max(value, least) / self.low)
        return ratio / math.log(self.high / self.low)


def span_of(values: Sequence[float], *, is_log: bool, from_zero: bool = True) -> Span:
    """A range with all ``values`` and a round end; 0 to 1, or 1 to 10, for none."""
    if is_log:
        above = [value for value in values if value > 0]
        if not above:
            return Span(1.0, 10.0, is_log=True)
        low, high = min(above), max(above)
        if high < low * _LEAST_DECADE:
            low, high = low / _LEAST_DECADE, high * _LEAST_DECADE
        return Span(low, high, is_log=True)
    low = min((0.0, *values)) if from_zero or not values else min(values)
    high = max((0.0, *values)) if from_zero or not values else max(values)
    if high <= low:
        high = low + 1.0
    step = nice_step(high - low, 4)
    top = math.ceil(high / step - 1e-9) * step
    return Span(low if from_zero else math.floor(low / step + 1e-9) * step, top)


def nice_step(length: float, most: int) -> float:
    """The smallest of 1, 2, 5, 10, ... that divides ``length`` into at most ``most`` parts."""
    rough = length / max(1, most)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in _NICE if step * power >= rough * (1 - 1e-9))


def ticks_of(span: Span, most: int, unit: float = 1.0) -> list[float]:
    """Round values in a span, at most about ``most``: round after division by ``unit``."""
    if span.is_log:
        return _log_ticks(span, most)
    low, high = span.low / unit, span.high / unit
    step = nice_step(high - low, most)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step * unit for number in range(first, last + 1)]


def doubling_ticks(span: Span, most: int) -> list[float]:
    """Powers of two in a log span, every second one or fewer where there are many."""
    first, last = math.ceil(math.log2(span.low) - 1e-9), math.floor(math.log2(span.high) + 1e-9)
    every = max(1, -(-(last - first + 1) // max(1, most)))
    return [2.0**power for power in range(first, last + 1, every)]


def _log_ticks(span: Span, most: int) -> list[float]:
    first, last = math.floor(math.log10(span.low)), math.ceil(math.log10(span.high))
    inside = []
    for steps in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        all_ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        inside = [t for t in all_ticks if span.low * 0.999 <= t <= span.high * 1.001]
        if len(inside) <= most:
            return inside
    return inside[:: -(-len(inside) // max(1, most))]
