"""The random numbers of sampling: a pure function of seed and count, with no state to share."""

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


def uniform(seed: int, index: int) -> float:
    """The ``index``-th draw of ``seed``, evenly distributed in [0, 1) with 53 bits.

    Splitmix64 as a counter-based generator: draw ``index`` needs none of the draws before it, so
    that a batch, a retry or a recomputation cannot shift the sequence.
    """
    key = _mix(seed & _MASK)
    return (_mix((key + (index + 1) * _GOLDEN) & _MASK) >> 11) / 2**53


def _mix(value: int) -> int:
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)
