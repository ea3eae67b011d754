"""What a chart shows, as plain values: series of points, bars, and what their numbers count.

Frozen, without a widget or a colour. Durations are in ms, bytes in bytes, rates per second,
shares from 0 to 1.
"""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a number counts, and with it the unit it is shown in."""

    COUNT = "count"
    TOKENS = "tokens"
    DURATION = "duration"
    RATE = "rate"
    BYTES = "bytes"
    SHARE = "share"
    FACTOR = "factor"
    FLOPS = "flops"
    BANDWIDTH = "bandwidth"
    INTENSITY = "intensity"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Axis:
    """What runs along one side. ``is_log``: equal steps multiply; only for values above 0."""

    label: str
    kind: Kind
    is_log: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement; ``low`` to ``high`` is the spread of its repeats, None without any."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one kind, joined in order of x. ``is_calculated``: none of them is measured."""

    name: str
    points: tuple[Point, ...]
    is_calculated: bool = False


@dataclass(frozen=True, slots=True)
class LineFigure:
    """Lines in one frame. ``sentence`` says what they show, for whoever does not see them."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar; ``low`` to ``high`` is the spread of its repeats, None without any."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class BarSeries:
    """One bar for each category of the figure; None where nothing was measured."""

    name: str
    bars: tuple[Bar | None, ...]
    is_calculated: bool = False


@dataclass(frozen=True, slots=True)
class BarFigure:
    """Bars in groups, one group a category. ``sentence`` as in ``LineFigure``."""

    title: str
    value: Axis
    categories: tuple[str, ...]
    series: tuple[BarSeries, ...]
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class RoofPoint:
    """What was reached: FLOP a byte read, FLOP a second. ``token`` is a theme colour."""

    name: str
    intensity: float
    flops_per_s: float
    token: str


@dataclass(frozen=True, slots=True)
class RooflineFigure:
    """This machine's measured ceilings, and points below them."""

    title: str
    memory_bytes_per_s: float
    flops_per_s: float
    points: tuple[RoofPoint, ...]
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """What a chart shows as rows of text; ``values`` are the same cells for another program.

    ``titles`` head the rows where those of the values, with their units, would not fit: each cell of
    a row has its own unit. Empty: the same.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    values: tuple[tuple[str, ...], ...]
    titles: tuple[str, ...] = ()
