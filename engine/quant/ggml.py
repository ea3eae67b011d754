"""Decode ggml's blocks into canonical weights, without re-quantising.

One tensor at a time, vectorised over its blocks. Every supported type is a grid of small integers
with a scale (and an offset) a group, so the values that come out are exactly those of the file:
2-, 3- and 4-bit types become GroupedInt4Weight, wider ones and those that pick 4-bit values from a
table GroupedInt8Weight, floats DenseWeight.

Layouts a block (d, m: float16; two 4-bit values a byte, low nibble first)::

    Q4_0  d q[16]          value = (q - 8) d      low nibbles are values 0-15, high ones 16-31
    Q4_1  d m q[16]        value = q d + m
    Q5_0  d h[4] q[16]     value = (q + 16 h - 16) d       h: one fifth bit a value
    Q5_1  d m h[4] q[16]   value = (q + 16 h) d + m
    Q8_0  d q[32]          value = q d

``engine.quant.ggml_k`` has the K types and ``engine.quant.ggml_tables`` those that look values up.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch

from engine.quant import ggml_k, ggml_tables
from engine.quant.ggml_blocks import Bytes, grouped_int4, grouped_int8, half, nibbles
from engine.quant.ggml_types import GgmlType
from engine.quant.layout import DenseWeight, Weight
from engine.quant.stored import FOUR_BIT_TYPES


def is_four_bit(kind: GgmlType) -> bool:
    """Whether decoding gives a GroupedInt4Weight."""
    return kind in FOUR_BIT_TYPES


def can_decode(kind: GgmlType) -> bool:
    """Whether this module knows the blocks of ``kind``."""
    return kind in _FLOATS or kind in _BLOCK_DECODERS


def decode(raw: Bytes, kind: GgmlType, shape: tuple[int, int]) -> Weight:
    """Decode a matrix.

    Args:
        raw: the tensor's bytes, exactly as many as ``shape`` needs.
        kind: a type for which ``can_decode`` is true.
        shape: (N, K); K is a multiple of the type's block length.

    Returns:
        The matrix, in new memory.
    """
    if kind in _FLOATS:
        return DenseWeight(_decode_floats(raw, kind).view(shape))
    blocks = raw.reshape(-1, kind.block.nbytes)
    return _BLOCK_DECODERS[kind](blocks, shape)


def decode_vector(raw: Bytes, kind: GgmlType) -> torch.Tensor:
    """Decode a norm, a bias or a table of factors: float32 [N]."""
    if kind in _FLOATS:
        return _decode_floats(raw, kind).float()
    values = raw.size // kind.block.nbytes * kind.block.values
    return decode(raw, kind, (1, values)).dequantize().view(-1)


def _decode_floats(raw: Bytes, kind: GgmlType) -> torch.Tensor:
    if kind is GgmlType.BF16:
        return torch.from_numpy(raw.view("<i2").copy()).view(torch.bfloat16)
    return torch.from_numpy(raw.view(_FLOATS[kind]).copy())


_FLOATS = {GgmlType.F32: "<f4", GgmlType.F16: "<f2", GgmlType.BF16: "<i2"}


def _q4_0(blocks: Bytes, shape: tuple[int, int]) -> Weight:
    scales = half(blocks, 0)
    return grouped_int4(nibbles(blocks[:, 2:], 16), scales, scales * -8, shape)


def _q4_1(blocks: Bytes, shape: tuple[int, int]) -> Weight:
    return grouped_int4(nibbles(blocks[:, 4:], 16), half(blocks, 0), half(blocks, 2), shape)


def _five_bits(low: Bytes, high: Bytes) -> npt.NDArray[np.int8]:
    """Nibbles [blocks, 16 bytes] and one fifth bit a value [blocks, 4 bytes]: 0 to 31."""
    fifth = np.unpackbits(np.ascontiguousarray(high), axis=1, bitorder="little")
    quants: Bytes = np.bitwise_or(nibbles(low, 16), fifth << np.uint8(4))
    return quants.view(np.int8)


def _q5_0(blocks: Bytes, shape: tuple[int, int]) -> Weight:
    quants = _five_bits(blocks[:, 6:], blocks[:, 2:6])
    quants -= 16
    return grouped_int8(quants, half(blocks, 0), None, shape)


def _q5_1(blocks: Bytes, shape: tuple[int, int]) -> Weight:
    quants = _five_bits(blocks[:, 8:], blocks[:, 4:8])
    return grouped_int8(quants, half(blocks, 0), half(blocks, 2), shape)


def _q8_0(blocks: Bytes, shape: tuple[int, int]) -> Weight:
    quants = np.ascontiguousarray(blocks[:, 2:]).view(np.int8)
    return grouped_int8(quants, half(blocks, 0), None, shape)


_BLOCK_DECODERS: dict[GgmlType, Callable[[Bytes, tuple[int, int]], Weight]] = {
    GgmlType.Q4_0: _q4_0,
    GgmlType.Q4_1: _q4_1,
    GgmlType.Q5_0: _q5_0,
    GgmlType.Q5_1: _q5_1,
    GgmlType.Q8_0: _q8_0,
    GgmlType.Q2_K: ggml_k.q2_k,
    GgmlType.Q3_K: ggml_k.q3_k,
    GgmlType.Q4_K: ggml_k.q4_k,
    GgmlType.Q5_K: ggml_k.q5_k,
    GgmlType.Q6_K: ggml_k.q6_k,
    GgmlType.IQ4_NL: ggml_tables.iq4_nl,
    GgmlType.IQ4_XS: ggml_tables.iq4_xs,
    GgmlType.MXFP4: ggml_tables.mxfp4,
}
