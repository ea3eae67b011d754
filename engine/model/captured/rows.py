"""Appending and attending for a step of one token a row, with shapes that never change.

``PagedRows`` says what a captured step asks for. ``GatheredRows`` does it in plain torch: it reads
the whole table of every row and leaves out what lies past the row's end, which is slow for long
tables, and takes memory for them; the slow twin of the kernels in ``engine.kernels.gpu``, and
their stand-in where Triton is not installed.
"""

import weakref
from dataclasses import dataclass
from typing import Protocol

import torch
from typing_extensions import override

from engine.config import KVGeometry
from engine.kv.quantized import QuantizedStorage
from engine.kv.storage import PagedStorage
from engine.model.attention import HeadLayout
from engine.model.captured.inputs import StepInputs

# What K and V of one layer may take when they are gathered: rows times tables.
_GATHERED_BYTES = 64 << 20
_LEAST_WIDTH = 16  # blocks


class PagedRows(Protocol):
    """K and V of one step's rows; made anew in the step, of nothing but static memory."""

    def append(self, layer: int, keys_values: torch.Tensor) -> None:
        """Keep K and V of each row, [rows, 2 * kv_heads, head_dim], in ``layer``."""
        ...

    def attend(self, layer: int, queries: torch.Tensor, window: int) -> torch.Tensor:
        """As ``engine.model.attention.StepAttention``, one query a row."""
        ...


@dataclass(frozen=True, slots=True)
class DecoderShape:
    """What of a decoder attention depends on. ``windows``: those that layers' indices point to.

    ``dtype``: of queries; ``context_length``: the most tokens a request may have.
    """

    heads: HeadLayout
    windows: tuple[int, ...]
    dtype: torch.dtype
    context_length: int


class RowsKind(Protocol):
    """A way to append and attend, of one decoder over one storage."""

    @property
    def name(self) -> str:
        """In words, for the model sheet."""
        ...

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What it raises, beside torch's errors, on a machine that cannot run it."""
        ...

    def width(self, rows: int, blocks: int, most: int) -> int | None:
        """Blocks of the tables in a step whose longest is ``blocks``; None: it takes too many."""
        ...

    def begin(self, inputs: StepInputs) -> PagedRows:
        """Prepare one step; runs within it."""
        ...


@dataclass(frozen=True, slots=True)
class Places:
    """Which storage keeps a layer, and under which number. Keeps no storage alive."""

    storages: tuple[weakref.ref[PagedStorage], ...]
    groups: tuple[int, ...]
    own: tuple[int, ...]

    @classmethod
    def of(cls, storage: PagedStorage) -> "Places":
        """Those of a storage on one device."""
        geometry: KVGeometry = storage.geometry
        count = geometry.num_layers
        if not geometry.groups:
            return cls((weakref.ref(storage),), (0,) * count, tuple(range(count)))
        found = {
            layer: (index, own)
            for index, group in enumerate(geometry.groups)
            for own, layer in enumerate(group.layers)
        }
        groups, own = zip(*(found[layer] for layer in range(count)), strict=True)
        return cls(tuple(map(weakref.ref, storage.parts)), groups, own)

    @property
    def parts(self) -> tuple[PagedStorage, ...]:
        """The storages of all groups, which must still be there."""
        found = tuple(part for storage in self.storages if (part := storage()) is not None)
        assert len(found) == len(self.storages), "a step runs over a storage that is gone"
        return found


@dataclass(frozen=True, slots=True, eq=False)
class GatheredKind(RowsKind):
    """Makes ``GatheredRows``."""

    places: Places
    shape: DecoderShape

    @property
    @override
    def name(self) -> str:
        return "gathered attention"

    @property
    @override
    def failures(self) -> tuple[type[Exception], ...]:
        return ()

    @override
    def width(self, rows: int, blocks: int, most: int) -> int | None:
        width = min(most, max(_LEAST_WIDTH, 1 << (blocks - 1).bit_length()))
        part = self.places.parts[0]
        vectors = 2 * part.geometry.num_kv_heads * part.geometry.block_size * rows * width
        taken = vectors * part.geometry.head_dim * part.dtype.itemsize
        return width if taken <= _GATHERED_BYTES else None

    @override
    def begin(self, inputs: StepInputs) -> "GatheredRows":
        return GatheredRows(self, inputs)


class GatheredRows(PagedRows):
    """Reads all blocks of all tables."""

    def __init__(self, kind: GatheredKind, inputs: StepInputs) -> None:
        self._places, self._heads = kind.places, kind.shape.heads
        self._parts = kind.places.parts
        self._inputs = inputs
        size = self._parts[0].geometry.block_size
        places = torch.arange(inputs.tables[0].shape[1] * size, device=inputs.positions.device)
        newest = inputs.positions.unsqueeze(1)
        # [rows, 1, 1, tokens]: not seen
        self._unseen = [
            ((places > newest) | (places <= newest - (window or len(places)))).view(
                -1, 1, 1, len(places)
            )
            for window in kind.shape.windows
        ]
        self._tables = [table.flatten().long() for table in inputs.tables]

    @override
    def append(self, layer: int, keys_values: torch.Tensor) -> None:
        group = self._places.groups[layer]
        rows = keys_values.index_select(0, self._inputs.sources)
        slots = self._inputs.slots[group]
        self._parts[group].append(self._places.own[layer], slots, rows)

    @override
    def attend(self, layer: int, queries: torch.Tensor, window: int) -> torch.Tensor:
        heads, group = self._heads, self._places.groups[layer]
        own, part = self._places.own[layer], self._parts[group]
        grouped = (queries.shape[0], heads.num_kv_heads, heads.group, heads.head_dim)
        rows = queries.reshape(grouped)
        if isinstance(part, QuantizedStorage):
            rotation = part.rotation.to(queries.dtype)
            rows = rows * part.factors[own, 0].unsqueeze(1).to(queries.dtype) @ rotation
            keys, values = part.rows(own, self._tables[group])
        else:
            keys, values = _gather(part, own, self._tables[group])
        spread = (heads.num_kv_heads, queries.shape[0], -1, heads.head_dim)
        keys, values = (
            some.to(queries.dtype).view(spread).transpose(0, 1) for some in (keys, values)
        )
        unseen = self._unseen[window]
        # what others left there may be no number, which no weight of zero takes away
        values = values.masked_fill(unseen.transpose(2, 3), 0)
        scores = torch.matmul(rows, keys.transpose(2, 3)).float()
        if heads.softcap:
            scores = scores.div_(heads.softcap).tanh_().mul_(heads.softcap)
        weights = scores.masked_fill_(unseen, float("-inf")).softmax(-1)
        mixed = torch.matmul(weights.to(values.dtype), values)
        if isinstance(part, QuantizedStorage):
            mixed = mixed @ part.rotation.to(queries.dtype).T
        return mixed.reshape(queries.shape[0], -1)


def _gather(
    storage: PagedStorage, layer: int, blocks: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Blocks (int64 [n]) side by side: K and V, each [kv_heads, n * block_size, head_dim]."""
    geometry = storage.geometry
    pool = storage.pool[layer].view(2 * geometry.num_kv_heads, geometry.num_blocks, -1)
    keys, values = pool.index_select(1, blocks).chunk(2)
    shape = (geometry.num_kv_heads, -1, geometry.head_dim)
    return keys.view(shape), values.view(shape)
