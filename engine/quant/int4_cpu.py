"""INT4 products on the CPU: two weights a byte, a bfloat16 scale and zero a group of K.

Few rows (decode) go through torch's packed INT4 product. Many rows (prefill) would be slow there,
so the weights are unpacked some columns at a time and multiplied in float32; that path is also
the slow twin. The packing depends on the instruction set and is never written to disk.
"""

import functools
from collections.abc import Iterator

import torch
from typing_extensions import override

from engine.quant.layout import GroupedInt4Weight
from engine.quant.product import Linear

# torch has no public name for its INT4 product
_pack_tiles = torch.ops.aten._convert_weight_to_int4pack_for_cpu  # noqa: SLF001 - the only door
_multiply_packed = torch.ops.aten._weight_int4pack_mm_for_cpu  # noqa: SLF001 - the only door

GROUP_SIZES = (32, 64, 128, 256)
_TILE = 64  # columns of one packed tile where the layout is known
_MANY_ROWS = 64  # from here on unpacking costs less than the packed product
_UNPACK_VALUES = 1 << 19  # float32 values unpacked at a time: they stay in the cache


@functools.cache
def has_fast_int4() -> bool:
    """Whether the packed INT4 product exists here and its layout is the one we can unpack.

    Tried on a small matrix, because torch packs differently for each instruction set and some
    builds have only a scalar product.
    """
    quants = torch.arange(_TILE * 64, dtype=torch.int32).mul_(7).div_(3, rounding_mode="floor")
    quants = quants.remainder_(16).view(_TILE, 64)
    try:
        packed = _pack_tiles(quants, 1)
        unpacked = _unpack(packed, 64, 0, 1).view(64, _TILE)
    except RuntimeError:
        return False
    return torch.equal(unpacked.t(), quants.float())


def can_pack(weight: GroupedInt4Weight) -> bool:
    """Whether the packed product takes a matrix of this shape and group size."""
    return weight.group_size in GROUP_SIZES and weight.shape[1] % weight.group_size == 0


def _unpack(packed: torch.Tensor, columns: int, first: int, count: int) -> torch.Tensor:
    """Tiles [first, first + count) as float32 quants, 0 to 15: [K, count * 64].

    A packed tile is [K, 32] bytes: the low nibbles are outputs 0-31 of the tile, the high ones
    32-63. ``columns`` is K.
    """
    tiles = packed.view(-1, columns, _TILE // 2)[first : first + count].transpose(0, 1)
    out = torch.empty(columns, count, _TILE)
    out[..., : _TILE // 2] = tiles & 15
    out[..., _TILE // 2 :] = tiles >> 4
    return out.view(columns, count * _TILE)


class Int4Linear(Linear):
    """x @ W.T on weights of 4 bits."""

    def __init__(self, weight: GroupedInt4Weight) -> None:
        """Pack ``weight``; ``has_fast_int4()`` and ``can_pack(weight)`` must be true."""
        self._out_features, self._in_features = weight.shape
        self._group_size = weight.group_size
        padding = -self._out_features % _TILE
        quants = torch.nn.functional.pad(weight.quants, (0, 0, 0, padding)).to(torch.int32)
        # the packed product's zero is the value of quant 8, not of quant 0
        zeros = weight.offsets + weight.scales * 8
        pair = torch.stack([weight.scales, zeros], dim=-1).transpose(0, 1)
        pair = torch.nn.functional.pad(pair, (0, 0, 0, padding))
        self._scales_and_zeros = pair.to(torch.bfloat16).contiguous()
        self._packed: torch.Tensor = _pack_tiles(quants, 1)

    @property
    @override
    def in_features(self) -> int:
        return self._in_features

    @property
    @override
    def out_features(self) -> int:
        return self._out_features

    @property
    @override
    def nbytes(self) -> int:
        return self._packed.numel() + self._scales_and_zeros.numel() * 2

    @property
    @override
    def kernel(self) -> str:
        return f"INT4 product, groups of {self._group_size}; FP32 from {_MANY_ROWS} rows on"

    @override
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] >= _MANY_ROWS:
            return self.multiply_unpacked(x)
        y: torch.Tensor = _multiply_packed(
            x.to(torch.bfloat16), self._packed, self._group_size, self._scales_and_zeros
        )
        return self._trim(y).to(x.dtype)

    def multiply_unpacked(self, x: torch.Tensor) -> torch.Tensor:
        """The same product in float32, whatever the number of rows."""
        rows = x.float()
        return self._trim(torch.cat([rows @ part for part in self._parts()], dim=1)).to(x.dtype)

    def _trim(self, y: torch.Tensor) -> torch.Tensor:
        if y.shape[1] == self._out_features:
            return y
        return y[:, : self._out_features].contiguous()

    def _parts(self) -> Iterator[torch.Tensor]:
        """W.T as float32, some columns at a time: [K, n]."""
        tiles = self._scales_and_zeros.shape[1] // _TILE
        step = max(1, _UNPACK_VALUES // (self._in_features * _TILE))
        for first in range(0, tiles, step):
            count = min(step, tiles - first)
            part = self._scales_and_zeros[:, first * _TILE : (first + count) * _TILE].float()
            scales, zeros = (half.contiguous().unsqueeze(1) for half in part.unbind(-1))
            quants = _unpack(self._packed, self._in_features, first, count)
            groups = quants.view(-1, self._group_size, count * _TILE)
            groups.mul_(scales).add_(zeros - scales * 8)
            yield quants
