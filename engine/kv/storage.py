"""The tensors behind the block pool, addressed by slot (block id x block size + offset).

Knows the layout of the pool and how a request's tokens are read back from it. Which block belongs
to whom is decided in ``engine.kv.manager``; attention itself is in ``engine.model.attention``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from typing_extensions import override

from engine.config import KVFormat, KVGeometry
from engine.kv.memory import Scratch, lazy_zeros


class KVReader(Protocol):
    """K and V of the first ``length`` tokens of one request, layer by layer, during one step."""

    def read(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return K and V, each [num_kv_heads, length, head_dim], in the reader's dtype.

        Sees what was appended to this layer before the call. Must not be written to; valid until
        the next read from the same storage.
        """
        ...


@runtime_checkable
class SpanReader(KVReader, Protocol):
    """A reader that makes K and V again from quantised codes, a span of tokens at a time.

    ``rotation``: orthogonal, float32 [head_dim, head_dim]. Spans come rotated by it: scores are
    those of queries times ``query_factors`` and then ``rotation``, and what is mixed from V is to
    be multiplied by its transpose. Keys come less a vector that is the same for all of a layer and
    head. ``read`` returns K and V as they were appended.
    """

    rotation: torch.Tensor

    def query_factors(self, layer: int) -> torch.Tensor:
        """What queries are multiplied by, channel by channel: float32 [num_kv_heads, 1, head_dim]."""
        ...

    def spans(self, layer: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """K and V, each [num_kv_heads, n, head_dim], in order, no longer than a fixed length."""
        ...


def float_type(kept: KVFormat) -> torch.dtype:
    """The torch type of a floating format."""
    dtype: torch.dtype = getattr(torch, kept.value)
    return dtype


class PagedStorage:
    """K and V of every layer in fixed-size blocks.

    Layout: [num_layers, 2 * num_kv_heads, num_blocks * block_size, head_dim], the heads of K
    before the heads of V, so that a token is written with one copy a layer, a request whose
    blocks lie side by side is read as a view, and any other with one gather.
    """

    def __init__(self, geometry: KVGeometry, device: torch.device) -> None:
        """Allocate the pool; ``geometry.format`` is a floating one."""
        dtype = float_type(geometry.format)
        self.geometry = geometry
        self.dtype = dtype
        self.device = device
        slots = geometry.num_blocks * geometry.block_size
        heads = 2 * geometry.num_kv_heads
        shape = (geometry.num_layers, heads, slots, geometry.head_dim)
        self._pool = lazy_zeros(shape, dtype, device)
        self._layers = self._pool.unbind(0)
        self._gathered = Scratch(device)
        self._converted = Scratch(device)

    @property
    def parts(self) -> "tuple[PagedStorage, ...]":
        """The storage of each group of layers; of layers of one kind, this one."""
        return (self,)

    def layer_reader(
        self, group: int, block_ids: Sequence[int], length: int, dtype: torch.dtype
    ) -> KVReader:
        """As ``reader``, of the layers of one group, which keep their own numbers."""
        del group  # there is one
        return self.reader(block_ids, length, dtype)

    @property
    def pool(self) -> torch.Tensor:
        """The whole pool, laid out as above; native code reads and writes it in place."""
        return self._pool

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

        A view of the pool when ``block_ids`` is a consecutive run, else a copy that the next
        read overwrites.
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
        used = tuple(block_ids[:num_blocks])
        if used != tuple(range(first, first + num_blocks)):
            blocks = torch.tensor(used, dtype=torch.int64, device=self.device)
            return _GatherReader(self, blocks, length, dtype)
        window = self._pool.narrow(2, first * size, length)
        if self.dtype != dtype:
            return _ConvertingReader(self, window.unbind(0), dtype)
        heads = self.geometry.num_kv_heads
        return _ViewReader(window[:, :heads].unbind(0), window[:, heads:].unbind(0))

    def block_tensors(self, block: int) -> tuple[torch.Tensor, ...]:
        """Views of everything one block holds, in a fixed order and with fixed shapes.

        What is written to them is in the cache: blocks are copied, kept on disk and brought back
        through them (see ``engine.kv.transfer``).
        """
        size = self.geometry.block_size
        return (self._pool.narrow(2, block * size, size),)

    def gather(self, layer: int, blocks: torch.Tensor) -> torch.Tensor:
        """Copy blocks (int64 [n]) side by side: [2 * num_kv_heads, n * block_size, head_dim].

        The next gather overwrites it.
        """
        heads, head_dim = 2 * self.geometry.num_kv_heads, self.geometry.head_dim
        whole = self._layers[layer].view(heads, self.geometry.num_blocks, -1)
        out = self._gathered.take((heads, blocks.shape[0], whole.shape[2]), self.dtype)
        return torch.index_select(whole, 1, blocks, out=out).view(heads, -1, head_dim)

    def convert(self, stored: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """Copy ``stored`` into ``dtype``; the next conversion overwrites it."""
        return self._converted.take(tuple(stored.shape), dtype).copy_(stored)


@dataclass(frozen=True, slots=True, eq=False)
class _ViewReader(KVReader):
    """The request's blocks are adjacent and of the right dtype: nothing is copied."""

    keys: tuple[torch.Tensor, ...]
    values: tuple[torch.Tensor, ...]

    @override
    def read(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.keys[layer], self.values[layer]


@dataclass(frozen=True, slots=True, eq=False)
class _ConvertingReader(KVReader):
    """The request's blocks are adjacent, and kept in a narrower dtype."""

    storage: PagedStorage
    layers: tuple[torch.Tensor, ...]
    dtype: torch.dtype

    @override
    def read(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = self.storage.convert(self.layers[layer], self.dtype).chunk(2)
        return keys, values


@dataclass(frozen=True, slots=True, eq=False)
class _GatherReader(KVReader):
    """The request's blocks are scattered: one gather a layer, for K and V together."""

    storage: PagedStorage
    blocks: torch.Tensor
    length: int
    dtype: torch.dtype

    @override
    def read(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        rows = self.storage.gather(layer, self.blocks).narrow(1, 0, self.length)
        if self.storage.dtype != self.dtype:
            rows = self.storage.convert(rows, self.dtype)
        keys, values = rows.chunk(2)
        return keys, values
