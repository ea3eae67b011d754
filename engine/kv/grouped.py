"""K and V of a model whose layers do not all look equally far back: a pool for each group of them.

Blocks of one group are of no use to another, so that each has its own numbers. Which block belongs
to whom is decided in ``engine.kv.manager``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from typing_extensions import override

from engine.config import KVGeometry
from engine.kv.quantized import make_storage as make_part
from engine.kv.storage import KVReader, PagedStorage, SpanReader


class GroupedStorage(PagedStorage):
    """``parts``: one storage a group. Layers have their numbers in the model.

    There is no one block table: what belongs to a block is asked of a part.
    """

    def __init__(self, geometry: KVGeometry, device: torch.device) -> None:
        """Allocate a pool for each of ``geometry.groups``."""
        self.geometry = geometry
        self.device = device
        self._parts = tuple(make_part(part, device) for part in geometry.parts)
        self.dtype = self._parts[0].dtype
        self._places = {
            layer: (part, own)
            for part, group in zip(self._parts, geometry.groups, strict=True)
            for own, layer in enumerate(group.layers)
        }
        self._own = {layer: own for layer, (_part, own) in self._places.items()}

    @property
    @override
    def parts(self) -> tuple[PagedStorage, ...]:
        return self._parts

    @property
    @override
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts)

    @override
    def append(self, layer: int, slots: torch.Tensor, keys_values: torch.Tensor) -> None:
        part, own = self._places[layer]
        part.append(own, slots, keys_values)

    @override
    def layer_reader(
        self, group: int, block_ids: Sequence[int], length: int, dtype: torch.dtype
    ) -> KVReader:
        reader = self._parts[group].reader(block_ids, length, dtype)
        if isinstance(reader, SpanReader):
            return _SpanReader(reader, self._own, reader.rotation)
        return _Reader(reader, self._own)


def make_storage(geometry: KVGeometry, device: torch.device) -> PagedStorage:
    """The storage for ``geometry``, of one kind of layers or of several."""
    return GroupedStorage(geometry, device) if geometry.groups else make_part(geometry, device)


@dataclass(frozen=True, slots=True, eq=False)
class _Reader(KVReader):
    """Asks a group's reader by the group's own numbers of layers."""

    inner: KVReader
    own: Mapping[int, int]

    @override
    def read(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.inner.read(self.own[layer])


@dataclass(frozen=True, slots=True, eq=False)
class _SpanReader(SpanReader):
    """The same for a quantised cache."""

    inner: SpanReader
    own: Mapping[int, int]
    rotation: torch.Tensor

    @override
    def read(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.inner.read(self.own[layer])

    @override
    def query_factors(self, layer: int) -> torch.Tensor:
        return self.inner.query_factors(self.own[layer])

    @override
    def spans(self, layer: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        return self.inner.spans(self.own[layer])
