"""Many readings of the same point as one: the middle one, and from where to where they lie."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from app.experiments.trials import Reading


@dataclass(frozen=True, slots=True)
class Spread:
    """A point of a curve. ``low`` and ``high`` are equal where it was measured once."""

    x: float
    middle: float
    low: float
    high: float
    label: str = ""


def series_of(readings: Iterable[Reading]) -> tuple[str, ...]:
    """The names of the series, each once, in order of appearance."""
    return tuple(dict.fromkeys(reading.series for reading in readings))


def curve(
    readings: Iterable[Reading], series: str, metric: str, across: str = ""
) -> tuple[Spread, ...]:
    """One metric of a series by x; ``across`` names what was measured in place of the planned x."""
    found: dict[tuple[float, str], list[Reading]] = {}
    for reading in readings:
        if reading.series == series and metric in reading.values:
            found.setdefault((reading.x, reading.label), []).append(reading)
    spreads = []
    for (x, label), same in found.items():
        values = [reading.values[metric] for reading in same]
        at = median(reading.values.get(across, x) for reading in same)
        spreads.append(Spread(at, median(values), min(values), max(values), label))
    return tuple(sorted(spreads, key=lambda spread: spread.x))


def unrest(readings: Iterable[Reading], metric: str) -> float:
    """How far repeats lie apart: the middle one of all points' ranges, over their values."""
    whole = tuple(readings)
    ranges = [
        ratio(spread.high - spread.low, abs(spread.middle))
        for series in series_of(whole)
        for spread in curve(whole, series, metric)
        if spread.low != spread.high
    ]
    return median(ranges) if ranges else 0.0


def ratio(value: float, base: float) -> float:
    """How many times ``base`` it is; 0 where that is 0, as only a damaged file says."""
    return value / base if base else 0.0


def binned(values: Iterable[float], most: int) -> tuple[tuple[float, float], ...]:
    """At most ``most`` points (place from 1, middle value) of as many neighbours each."""
    whole = list(values)
    size = max(1, -(-len(whole) // most))
    points = []
    for start in range(0, len(whole), size):
        part = whole[start : start + size]
        points.append((start + (len(part) + 1) / 2, median(part)))
    return tuple(points)
