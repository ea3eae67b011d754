"""Pieces of ggml's blocks: half-precision fields, nibbles, and groups as canonical weights.

``Bytes`` is uint8 [blocks, bytes of a block]; knows no type of tensor.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from engine.quant.layout import GroupedInt4Weight, GroupedInt8Weight

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


def half(blocks: Bytes, start: int) -> Floats:
    """The float16 at byte ``start`` of each block, as float32 [blocks, 1]."""
    column = np.ascontiguousarray(blocks[:, start : start + 2])
    return column.view("<f2").astype(np.float32)


def nibbles(packed: Bytes, run: int) -> Bytes:
    """Unpack [blocks, bytes]: of each ``run`` bytes first all low nibbles, then all high ones."""
    runs = packed.reshape(packed.shape[0], -1, 1, run)
    out = np.empty((packed.shape[0], runs.shape[1], 2, run), np.uint8)
    np.bitwise_and(runs[:, :, 0], 15, out=out[:, :, 0])
    np.right_shift(runs[:, :, 0], 4, out=out[:, :, 1])
    return out.reshape(packed.shape[0], -1)


def grouped_int4(
    quants: Bytes, scales: Floats, offsets: Floats, shape: tuple[int, int]
) -> GroupedInt4Weight:
    """Join values 0-15 with a scale and an offset a group, [blocks, groups of a block] each."""
    rows = shape[0]
    return GroupedInt4Weight(
        _tensor(quants, shape), _tensor(scales, (rows, -1)), _tensor(offsets, (rows, -1))
    )


def grouped_int8(
    quants: npt.NDArray[np.int8],
    scales: Floats,
    offsets: Floats | None,
    shape: tuple[int, int],
) -> GroupedInt8Weight:
    """Join 8-bit values with a scale, and perhaps an offset, a group."""
    rows = shape[0]
    return GroupedInt8Weight(
        _tensor(quants, shape),
        _tensor(scales, (rows, -1)),
        None if offsets is None else _tensor(offsets, (rows, -1)),
    )


def _tensor(values: npt.NDArray[Any], shape: tuple[int, int]) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).view(shape)
