"""Decode bitsandbytes' stored weights: NF4 and FP4 blocks, and INT8 rows. Imports no bitsandbytes.

A 4-bit matrix is its values row after row, two a byte (the first in the high bits), each an index
into a table of 16, times the absolute maximum of its block::

    value[i] = table[q[i]] * absmax[i // block_size]

Under double quantisation the maxima are themselves bytes that index a table of 256, times a maximum
a block of them, plus one offset for the whole matrix. An INT8 row is divided by 127 and multiplied
by its maximum.
"""

from dataclasses import dataclass

import torch

from engine.quant.layout import ChannelInt8Weight, DenseWeight
from engine.quant.packed_words import PackingError

_MAX_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Maxima:
    """The absolute maximum of each block: floats, or bytes under double quantisation.

    ``values``: float [blocks], or uint8 indices into ``table`` [256]; then ``outer`` has one
    maximum a ``block_size`` of them, and ``offset`` is added to all.
    """

    values: torch.Tensor
    table: torch.Tensor | None = None
    outer: torch.Tensor | None = None
    block_size: int = 256
    offset: float = 0.0

    def decode(self) -> torch.Tensor:
        """float32 [blocks]. Raises PackingError."""
        if self.table is None or self.outer is None:
            if not self.values.is_floating_point():
                raise PackingError("the maxima of its blocks are no numbers")
            return self.values.float().flatten()
        if self.values.dtype != torch.uint8 or self.table.numel() != 256:
            raise PackingError("its twice quantised maxima are not bytes")
        factors = _spread(self.outer.float().flatten(), self.block_size, self.values.numel())
        return self.table.float()[self.values.flatten().long()] * factors + self.offset


def decode_table_blocks(
    packed: torch.Tensor,
    table: torch.Tensor,
    maxima: Maxima,
    block_size: int,
    shape: tuple[int, int],
) -> DenseWeight:
    """Packed indices -> float32 [N, K]; uneven steps have no integer grid.

    packed: uint8, as many as N * K / 2; table: float [16]. Raises PackingError.
    """
    count = shape[0] * shape[1]
    if packed.dtype != torch.uint8 or packed.numel() != -(-count // 2):
        raise PackingError(f"{packed.numel()} bytes cannot hold {count} values")
    if table.numel() != 16:
        raise PackingError(f"its table has {table.numel()} values, not 16")
    octets = packed.flatten()
    values = torch.empty(octets.numel(), 2)
    levels = table.float().flatten()
    torch.index_select(levels, 0, (octets >> 4).int(), out=values[:, 0])
    torch.index_select(levels, 0, (octets & 15).int(), out=values[:, 1])
    flat = values.view(-1)[:count]
    flat *= _spread(maxima.decode(), block_size, count)
    return DenseWeight(flat.view(shape))


def decode_int8_rows(quants: torch.Tensor, maxima: torch.Tensor) -> ChannelInt8Weight:
    """int8 [N, K] and the maximum of each row, float [N]. Raises PackingError."""
    if quants.dtype != torch.int8 or quants.dim() != 2 or maxima.numel() != quants.shape[0]:
        raise PackingError(f"{maxima.numel()} scales do not fit {list(quants.shape)} values")
    return ChannelInt8Weight(quants, maxima.float().flatten() / 127)


def _spread(per_block: torch.Tensor, block_size: int, count: int) -> torch.Tensor:
    """One factor a block -> one a value."""
    if not 0 < block_size <= _MAX_BLOCK or per_block.numel() != -(-count // block_size):
        raise PackingError(f"{per_block.numel()} blocks of {block_size} are not {count} values")
    return per_block.repeat_interleave(block_size)[:count]
