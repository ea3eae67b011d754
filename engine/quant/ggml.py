"""Decode ggml's blocks into canonical weights, without re-quantising.

One tensor at a time, vectorised over its blocks. Every supported type is a grid of small integers
with a scale (and an offset) a group, so the values that come out are exactly those of the file:
4-bit types become GroupedInt4Weight, 5-, 6- and 8-bit ones GroupedInt8Weight, floats DenseWeight.

Layouts a block (d, m: float16; two 4-bit values a byte, low nibble first)::

    Q4_0  d q[16]          value = (q - 8) d      low nibbles are values 0-15, high ones 16-31
    Q4_1  d m q[16]        value = q d + m
    Q5_0  d h[4] q[16]     value = (q + 16 h - 16) d       h: one fifth bit a value
    Q5_1  d m h[4] q[16]   value = (q + 16 h) d + m
    Q8_0  d q[32]          value = q d
    Q4_K  d m s[12] q[128]        8 groups of 32: value = q (d s) - (m t), 6-bit s and t
    Q5_K  d m s[12] h[32] q[128]
    Q6_K  l[128] h[64] s[16] d    16 groups of 16: value = (q - 32) (d s), 8-bit s
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from engine.quant.ggml_types import GgmlType
from engine.quant.layout import DenseWeight, GroupedInt4Weight, GroupedInt8Weight, Weight

_Bytes = npt.NDArray[np.uint8]
_Floats = npt.NDArray[np.float32]
_FOUR_BIT = frozenset({GgmlType.Q4_0, GgmlType.Q4_1, GgmlType.Q4_K})


def is_four_bit(kind: GgmlType) -> bool:
    """Whether decoding gives a GroupedInt4Weight."""
    return kind in _FOUR_BIT


def can_decode(kind: GgmlType) -> bool:
    """Whether this module knows the blocks of ``kind``."""
    return kind in _FLOATS or kind in _BLOCK_DECODERS


def decode(raw: _Bytes, kind: GgmlType, shape: tuple[int, int]) -> Weight:
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


def decode_vector(raw: _Bytes, kind: GgmlType) -> torch.Tensor:
    """Decode a norm, a bias or a table of factors: float32 [N]."""
    if kind in _FLOATS:
        return _decode_floats(raw, kind).float()
    values = raw.size // kind.block.nbytes * kind.block.values
    return decode(raw, kind, (1, values)).dequantize().view(-1)


def _decode_floats(raw: _Bytes, kind: GgmlType) -> torch.Tensor:
    if kind is GgmlType.BF16:
        return torch.from_numpy(raw.view("<i2").copy()).view(torch.bfloat16)
    return torch.from_numpy(raw.view(_FLOATS[kind]).copy())


_FLOATS = {GgmlType.F32: "<f4", GgmlType.F16: "<f2", GgmlType.BF16: "<i2"}


def _half(blocks: _Bytes, start: int) -> _Floats:
    """The float16 at byte ``start`` of each block, as float32 [blocks, 1]."""
    column = np.ascontiguousarray(blocks[:, start : start + 2])
    return column.view("<f2").astype(np.float32)


def _nibbles(packed: _Bytes, run: int) -> _Bytes:
    """Unpack [blocks, bytes]: of each ``run`` bytes first all low nibbles, then all high ones."""
    runs = packed.reshape(packed.shape[0], -1, 1, run)
    out = np.empty((packed.shape[0], runs.shape[1], 2, run), np.uint8)
    np.bitwise_and(runs[:, :, 0], 15, out=out[:, :, 0])
    np.right_shift(runs[:, :, 0], 4, out=out[:, :, 1])
    return out.reshape(packed.shape[0], -1)


def _int4(
    quants: _Bytes, scales: _Floats, offsets: _Floats, shape: tuple[int, int]
) -> GroupedInt4Weight:
    rows = shape[0]
    return GroupedInt4Weight(
        _tensor(quants, shape), _tensor(scales, (rows, -1)), _tensor(offsets, (rows, -1))
    )


def _int8(
    quants: npt.NDArray[np.int8],
    scales: _Floats,
    offsets: _Floats | None,
    shape: tuple[int, int],
) -> GroupedInt8Weight:
    rows = shape[0]
    return GroupedInt8Weight(
        _tensor(quants, shape),
        _tensor(scales, (rows, -1)),
        None if offsets is None else _tensor(offsets, (rows, -1)),
    )


def _tensor(values: npt.NDArray[Any], shape: tuple[int, int]) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).view(shape)


def _q4_0(blocks: _Bytes, shape: tuple[int, int]) -> Weight:
    scales = _half(blocks, 0)
    return _int4(_nibbles(blocks[:, 2:], 16), scales, scales * -8, shape)


def _q4_1(blocks: _Bytes, shape: tuple[int, int]) -> Weight:
    return _int4(_nibbles(blocks[:, 4:], 16), _half(blocks, 0), _half(blocks, 2), shape)


def _five_bits(low: _Bytes, high: _Bytes) -> npt.NDArray[np.int8]:
    """Nibbles [blocks, 16 bytes] and one fifth bit a value [blocks, 4 bytes]: 0 to 31."""
    fifth = np.unpackbits(np.ascontiguousarray(high), axis=1, bitorder="little")
    quants: _Bytes = np.bitwise_or(_nibbles(low, 16), fifth << np.uint8(4))
    return quants.view(np.int8)


def _q5_0(blocks: _Bytes, shape: tuple[int, int]) -> Weight:
    quants = _five_bits(blocks[:, 6:], blocks[:, 2:6])
    quants -= 16
    return _int8(quants, _half(blocks, 0), None, shape)


def _q5_1(blocks: _Bytes, shape: tuple[int, int]) -> Weight:
    quants = _five_bits(blocks[:, 8:], blocks[:, 4:8])
    return _int8(quants, _half(blocks, 0), _half(blocks, 2), shape)


def _q8_0(blocks: _Bytes, shape: tuple[int, int]) -> Weight:
    quants = np.ascontiguousarray(blocks[:, 2:]).view(np.int8)
    return _int8(quants, _half(blocks, 0), None, shape)


def _k_scales(blocks: _Bytes) -> tuple[_Floats, _Floats]:
    """Scales and offsets of the 8 groups of a Q4_K or Q5_K block, each [blocks, 8].

    The 12 bytes at 4 hold eight 6-bit scales and eight 6-bit minima: the first four of each in
    the low bits of bytes 0-3 and 4-7, the low nibbles of the rest in bytes 8-11, and their upper
    two bits on top of bytes 0-7.
    """
    packed = blocks[:, 4:16]
    first, second, third = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
    scales = np.concatenate([first & 63, (third & 15) | (first >> 6 << 4)], axis=1)
    minima = np.concatenate([second & 63, (third >> 4) | (second >> 6 << 4)], axis=1)
    return _half(blocks, 0) * scales, _half(blocks, 2) * -minima.astype(np.float32)


def _q4_k(blocks: _Bytes, shape: tuple[int, int]) -> Weight:
    scales, offsets = _k_scales(blocks)
    return _int4(_nibbles(blocks[:, 16:], 32), scales, offsets, shape)


def _q5_k(blocks: _Bytes, shape: tuple[int, int]) -> Weight:
    scales, offsets = _k_scales(blocks)
    bits = np.arange(8, dtype=np.uint8).reshape(1, 8, 1)
    fifth = (blocks[:, None, 16:48] >> bits & 1) << 4
    quants = _nibbles(blocks[:, 48:], 32) | fifth.reshape(len(blocks), 256)
    return _int8(quants.view(np.int8), scales, offsets, shape)


def _q6_k(blocks: _Bytes, shape: tuple[int, int]) -> Weight:
    low = blocks[:, :128].reshape(-1, 2, 1, 64)
    low = np.concatenate([low & 15, low >> 4], axis=2).reshape(-1, 2, 4, 32)
    shifts = np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)
    high = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> shifts & 3
    quants = (low | (high << 4)).astype(np.int8)
    quants -= 32
    scales = np.ascontiguousarray(blocks[:, 192:208]).view(np.int8)
    return _int8(quants, _half(blocks, 208) * scales, None, shape)


_BLOCK_DECODERS: dict[GgmlType, Callable[[_Bytes, tuple[int, int]], Weight]] = {
    GgmlType.Q4_0: _q4_0,
    GgmlType.Q4_1: _q4_1,
    GgmlType.Q5_0: _q5_0,
    GgmlType.Q5_1: _q5_1,
    GgmlType.Q8_0: _q8_0,
    GgmlType.Q4_K: _q4_k,
    GgmlType.Q5_K: _q5_k,
    GgmlType.Q6_K: _q6_k,
}
