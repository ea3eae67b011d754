"""The tensors behind the block pool, addressed by slot (block id x block size + offset).

Knows the layout of the pool and how a request's tokens are read back from it. Which block belongs
to whom is decided in ``engine.kv.manager``; attention itself is in ``engine.model.attention``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from typing_extensions import override

from engine.config import KVGeometry


class KVReader(Protocol):
    """K and V of the first ``length`` tokens of one request, layer by layer, during one step."""

    def read(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return K and V, each [num_kv_heads, length, head_dim], in the reader's dtype.

        Sees what was appended to this layer before the call. Must not be written to.
        """
        ...


class PagedStorage:
    """K and V of every layer in fixed-size blocks.

    Layout: [num_layers, 2 * num_kv_heads, num_blocks * block_size, head_dim], the heads of K
    before the heads of V, so that a token is written with one copy a layer, a request whose
    blocks lie side by side is read as a view, and any other with one gather.
    """

    def __init__(self, geometry: KVGeometry, dtype: torch.dtype, device: torch.device) -> None:
        self.geometry = geometry
        self.dtype = dtype
        self.device = device
        slots = geometry.num_blocks * geometry.block_size
        heads = 2 * geometry.num_kv_heads
        shape = (geometry.num_layers, heads, slots, geometry.head_dim)
        self._pool = torch.zeros(shape, dtype=dtype, device=device)
        self._layers = self._pool.unbind(0)

    @property
    def nbytes(self) -> int:
        """Bytes allocated for the whole pool."""
        return self._pool.numel() * self._pool.element_size()

    def append(self, layer: int, slots: torch.Tensor, keys_values: torch.Tensor) -> None:
        """Write the K and V of T tokens at ``slots`` (int64 [T]).

        ``keys_values``: [T, 2 * num_kv_heads, head_dim], K before V, in any floating dtype.
        """
        rows = keys_values.transpose(0, 1)
        if rows.dtype != self.dtype:
            rows = rows.to(self.dtype)
        self._layers[layer].index_copy_(1, slots, rows)

    def read(
        self, layer: int, block_ids: Sequence[int], length: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return K and V of tokens [0, length), each [num_kv_heads, length, head_dim].

        A view of the pool when ``block_ids`` is a consecutive run, else a copy.
        """
        return self.reader(block_ids, length, self.dtype).read(layer)

    def reader(self, block_ids: Sequence[int], length: int, dtype: torch.dtype) -> KVReader:
        """Prepare to read tokens [0, length) of one request in every layer, converted to ``dtype``.

        Valid for one step: the block table is looked at once, here.
        """
        size = self.geometry.block_size
        num_blocks = -(-length // size)
        if num_blocks > len(block_ids):
            raise ValueError(f"{length} tokens need {num_blocks} blocks, not {len(block_ids)}")
        first = block_ids[0]
        if tuple(block_ids[:num_blocks]) == tuple(range(first, first + num_blocks)):
            window = self._pool.narrow(2, first * size, length)
            heads = self.geometry.num_kv_heads
            return _ViewReader(
                window[:, :heads].unbind(0), window[:, heads:].unbind(0), dtype, self.dtype
            )
        blocks = torch.tensor(block_ids[:num_blocks], dtype=torch.int64, device=self.device)
        offsets = torch.arange(size, dtype=torch.int64, device=self.device)
        slots = (blocks.unsqueeze(1) * size + offsets).view(-1)[:length]
        return _GatherReader(self._layers, slots, self.geometry.num_kv_heads, dtype)


@dataclass(frozen=True, slots=True, eq=False)
class _ViewReader(KVReader):
    """The request's blocks are adjacent: nothing is copied unless the dtype differs."""

    keys: tuple[torch.Tensor, ...]
    values: tuple[torch.Tensor, ...]
    dtype: torch.dtype
    stored_dtype: torch.dtype

    @override
    def read(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = self.keys[layer], self.values[layer]
        if self.stored_dtype == self.dtype:
            return keys, values
        return keys.to(self.dtype), values.to(self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class _GatherReader(KVReader):
    """The request's blocks are scattered: one gather a layer, for K and V together."""

    layers: tuple[torch.Tensor, ...]
    slots: torch.Tensor
    num_kv_heads: int
    dtype: torch.dtype

    @override
    def read(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        rows = self.layers[layer].index_select(1, self.slots).to(self.dtype)
        return rows[: self.num_kv_heads], rows[self.num_kv_heads :]
