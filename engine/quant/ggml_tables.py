"""Decode ggml's types whose 4 bits pick from a table: all are 8-bit values with a scale a group.

::

    IQ4_NL  d q[16]                  32 values: table[q] d
    IQ4_XS  d h[2] l[4] q[128]       8 groups of 32: table[q] d (s - 32), 6-bit s: 4 in l, 2 in h
    MXFP4   e q[16]                  32 values: half units of the 4-bit float q, times 2^(e - 128)
"""

import numpy as np
import numpy.typing as npt

from engine.quant.ggml_blocks import Bytes, grouped_int8, half, nibbles
from engine.quant.layout import Weight

_CURVE = np.array(
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.int8
)
_HALVES = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.int8)


def _look_up(table: npt.NDArray[np.int8], packed: Bytes) -> npt.NDArray[np.int8]:
    quants: npt.NDArray[np.int8] = table[nibbles(packed, 16)]
    return quants


def iq4_nl(blocks: Bytes, shape: tuple[int, int]) -> Weight:
    """A curve of 16 values, one scale a group."""
    return grouped_int8(_look_up(_CURVE, blocks[:, 2:]), half(blocks, 0), None, shape)


def iq4_xs(blocks: Bytes, shape: tuple[int, int]) -> Weight:
    """The same curve, eight groups under one scale of half precision."""
    low = blocks[:, 4:8, None] >> np.array([0, 4], np.uint8) & 15
    packed = np.ascontiguousarray(blocks[:, 2:4]).view("<u2")
    high = (packed >> np.arange(0, 16, 2, dtype=np.uint16) & 3).astype(np.uint8)
    scales = (low.reshape(-1, 8) | high << 4).astype(np.float32) - 32
    return grouped_int8(_look_up(_CURVE, blocks[:, 8:]), half(blocks, 0) * scales, None, shape)


def mxfp4(blocks: Bytes, shape: tuple[int, int]) -> Weight:
    """Four-bit floats (two bits of exponent, one of fraction) under a power of two."""
    scales = np.ldexp(np.float32(1), blocks[:, :1].astype(np.int32) - 128)
    return grouped_int8(_look_up(_HALVES, blocks[:, 1:]), scales.astype(np.float32), None, shape)
