"""Figures as people read them: a short number and its unit, apart.

Pure functions; no widget, no translation (the units are the same in every language). A meter
that has no value yet shows ``UNKNOWN``.
"""

from typing import NamedTuple

from typing_extensions import override

UNKNOWN = "—"

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_NS_PER_MS = 1_000_000
_MS_PER_S = 1_000


class Quantity(NamedTuple):
    """A number ready to be shown, and its unit."""

    number: str
    unit: str

    @override
    def __str__(self) -> str:
        return f"{self.number} {self.unit}"


def short_number(value: float) -> str:
    """One decimal below a hundred unless whole; grouped thousands above."""
    if abs(value) < 99.95 and value != int(value):
        return f"{value:.1f}"
    return f"{value:,.0f}"


def bytes_quantity(num_bytes: float) -> Quantity:
    """Bytes in the largest binary unit that leaves a number of at least 1."""
    value = float(num_bytes)
    unit = _BYTE_UNITS[0]
    for unit in _BYTE_UNITS:
        # 1,023.6 of one unit would be written as 1,024: take the next
        if abs(value) < 1023.5 or unit == _BYTE_UNITS[-1]:
            break
        value /= 1024
    return Quantity(short_number(value), unit)


def bytes_over(num_bytes: float, budget: float) -> tuple[Quantity, str]:
    """Bytes, and the budget in the same unit ("54 MiB", "512"); its own unit where larger."""
    used, whole = bytes_quantity(num_bytes), bytes_quantity(budget)
    if num_bytes <= 0:
        # nothing yet: the unit in which it will begin to count
        used = Quantity("0", min(whole.unit, "MiB", key=_BYTE_UNITS.index))
    if used.unit == whole.unit:
        return used, whole.number
    return used, str(whole)


def duration_quantity(duration_ns: float) -> Quantity:
    """Milliseconds below a second, else seconds with two or one decimals."""
    ms = duration_ns / _NS_PER_MS
    if ms < 999.5:
        return Quantity(_short_ms(ms), "ms")
    seconds = ms / _MS_PER_S
    return Quantity(f"{seconds:.2f}" if seconds < 9.995 else f"{seconds:,.1f}", "s")


def _short_ms(ms: float) -> str:
    if ms <= 0:
        return "0"
    if ms < 0.095:
        return "<0.1"
    return f"{ms:.1f}" if ms < 99.95 else f"{ms:.0f}"


def milliseconds(duration_ns: float) -> str:
    """A duration in milliseconds however long, for figures that are compared."""
    ms = duration_ns / _NS_PER_MS
    return _short_ms(ms) if ms < 999.5 else f"{ms:,.0f}"


def rate_quantity(tokens_per_s: float) -> Quantity:
    """Tokens a second: one decimal below a hundred."""
    number = f"{tokens_per_s:.1f}" if tokens_per_s < 99.95 else f"{tokens_per_s:,.0f}"
    return Quantity(number, "tok/s")


def count_short(count: int) -> str:
    """A count of tokens as on a model's box: 8192 is "8K", 131072 "128K", 2000 "2,000"."""
    if count >= 1024 * 1024 and count % (1024 * 1024) == 0:
        return f"{count // (1024 * 1024)}M"
    if count >= 1024 and count % 1024 == 0:
        return f"{count // 1024}K"
    return f"{count:,}"


def parameters_short(count: int) -> str:
    """Parameters of a model: 134,515,008 is "135M", 7,241,732,096 "7.2B"."""
    if count >= 10**9:
        return f"{count / 10**9:.1f}B"
    if count >= 10**6:
        return f"{count / 10**6:.0f}M"
    return f"{count:,}"
