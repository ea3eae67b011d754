"""Numbers of a chart in words: each in its own unit, and a whole axis in one.

Pure functions; the units are the same in every language, save "tokens".
"""

import math
from dataclasses import dataclass

from ui.charts.figures import Axis, Kind
from ui.i18n import tr
from ui.widgets.units import bytes_quantity, duration_quantity, rate_quantity

_NS_PER_MS = 1_000_000
_DECIMAL = ("", "k", "M", "G", "T", "P")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True, slots=True)
class Scale:
    """Values of an axis over ``divisor`` are in ``unit``, which may be empty."""

    divisor: float = 1.0
    unit: str = ""

    def number(self, value: float) -> str:
        """One tick, without the unit."""
        return plain_number(value / self.divisor)


def plain_number(value: float) -> str:
    """At most four figures that mean something, grouped thousands, no zeros at the end."""
    if value == 0:
        return "0"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(digits, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def scale_for(kind: Kind, highest: float) -> Scale:
    """The unit in which an axis that ends at ``highest`` is short to read."""
    match kind:
        case Kind.DURATION:
            return Scale(1_000.0, "s") if highest >= 2_000 else Scale(1.0, "ms")
        case Kind.BYTES:
            return _binary(highest)
        case Kind.SHARE:
            return Scale(0.01, "%")
        case Kind.FLOPS:
            return _decimal(highest, "FLOP/s")
        case Kind.BANDWIDTH:
            return _decimal(highest, "B/s")
        case _:
            return Scale(1.0, _plain_unit(kind))


def _plain_unit(kind: Kind) -> str:
    units = {Kind.TOKENS: tr("tokens"), Kind.RATE: "tok/s", Kind.INTENSITY: "FLOP/B"}
    return units.get(kind, "")


def words_of(kind: Kind, value: float) -> str:
    """One value with its unit."""
    match kind:
        case Kind.DURATION:
            words = str(duration_quantity(value * _NS_PER_MS))
        case Kind.BYTES:
            words = str(bytes_quantity(value))
        case Kind.RATE:
            words = str(rate_quantity(value))
        case Kind.SHARE:
            words = f"{100 * value:.{0 if abs(value) >= 0.0995 else 1}f}%"
        case Kind.TOKENS:
            words = tr("{n} tokens", n=f"{value:,.0f}")
        case Kind.FACTOR:
            words = tr("{n} times", n=f"{value:.2f}")
        case Kind.FLOPS | Kind.BANDWIDTH:
            scale = scale_for(kind, value)
            words = f"{value / scale.divisor:.3g} {scale.unit}"
        case Kind.INTENSITY:
            words = f"{value:.2g} FLOP/B" if value < 10 else f"{value:,.0f} FLOP/B"
        case _:
            words = plain_number(value)
    return words


def spread_words(kind: Kind, low: float | None, high: float | None) -> str:
    """From the least to the most of several measurements; empty where there was one."""
    if low is None or high is None or low == high:
        return ""
    return tr("{low} to {high}", low=words_of(kind, low), high=words_of(kind, high))


def axis_words(axis: Axis, scale: Scale) -> str:
    """What stands at an axis: its label and its unit."""
    if not scale.unit or scale.unit == axis.label.casefold():
        return axis.label
    return f"{axis.label} ({scale.unit})"


def _binary(highest: float) -> Scale:
    power = 0
    while highest >= 1024 and power < len(_BINARY) - 1:
        highest /= 1024
        power += 1
    return Scale(1024.0**power, _BINARY[power])


def _decimal(highest: float, unit: str) -> Scale:
    power = 0
    while highest >= 1000 and power < len(_DECIMAL) - 1:
        highest /= 1000
        power += 1
    return Scale(1000.0**power, f"{_DECIMAL[power]}{unit}")
