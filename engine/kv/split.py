"""K and V of a model whose layers lie on several devices: pools on each, under the same tables."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from typing_extensions import override

from engine.config import KVGeometry
from engine.kv.grouped import make_storage
from engine.kv.storage import KVReader, PagedStorage


class SplitStorage(PagedStorage):
    """Consecutive layers in ``pools``; answers for all of them as one storage would.

    ``device`` is that of the first layer. Whoever runs the layers of one device takes its pool,
    where layers count from 0.
    """

    def __init__(
        self,
        geometry: KVGeometry,
        runs: Sequence[tuple[torch.device, int]],
    ) -> None:
        """Allocate a pool for each run: a device, and how many consecutive layers lie on it."""
        if sum(count for _device, count in runs) != geometry.num_layers:
            raise ValueError(f"the runs {runs} do not make {geometry.num_layers} layers")
        self.geometry = geometry
        self.device = runs[0][0]
        starts = itertools.accumulate((count for _device, count in runs), initial=0)
        self.pools = tuple(
            make_storage(_part_of(geometry, start, count), device)
            for start, (device, count) in zip(starts, runs, strict=False)
        )
        self.dtype = self.pools[0].dtype
        self._places = tuple(
            (pool, layer) for pool in self.pools for layer in range(pool.geometry.num_layers)
        )

    @property
    @override
    def parts(self) -> tuple[PagedStorage, ...]:
        """The storage of each group of layers, of which only whole blocks are of use."""
        if not self.geometry.groups:
            return (self,)
        groups = zip(*(pool.parts for pool in self.pools), strict=True)
        return tuple(
            _SplitGroup(geometry, pools)
            for geometry, pools in zip(self.geometry.parts, groups, strict=True)
        )

    @property
    @override
    def nbytes(self) -> int:
        return sum(pool.nbytes for pool in self.pools)

    @override
    def append(self, layer: int, slots: torch.Tensor, keys_values: torch.Tensor) -> None:
        pool, own_layer = self._places[layer]
        pool.append(own_layer, slots.to(pool.device), keys_values)

    @override
    def block_tensors(self, block: int) -> tuple[torch.Tensor, ...]:
        return tuple(tensor for pool in self.pools for tensor in pool.block_tensors(block))

    @override
    def reader(self, block_ids: Sequence[int], length: int, dtype: torch.dtype) -> KVReader:
        return self.layer_reader(0, block_ids, length, dtype)

    @override
    def layer_reader(
        self, group: int, block_ids: Sequence[int], length: int, dtype: torch.dtype
    ) -> KVReader:
        readers = [pool.layer_reader(group, block_ids, length, dtype) for pool in self.pools]
        return _SplitReader(
            tuple(
                (reader, layer)
                for reader, pool in zip(readers, self.pools, strict=True)
                for layer in range(pool.geometry.num_layers)
            )
        )


def _part_of(geometry: KVGeometry, start: int, count: int) -> KVGeometry:
    """The geometry of layers [start, start + count), which count from 0."""
    groups = (
        replace(g, layers=tuple(i - start for i in g.layers if start <= i < start + count))
        for g in geometry.groups
    )
    return replace(geometry, num_layers=count, groups=tuple(groups))


class _SplitGroup(PagedStorage):
    """The blocks of one group, a part of each on every device."""

    def __init__(self, geometry: KVGeometry, pools: Sequence[PagedStorage]) -> None:
        self.geometry = geometry
        self.device = pools[0].device
        self.dtype = pools[0].dtype
        self._pools = pools

    @property
    @override
    def nbytes(self) -> int:
        return sum(pool.nbytes for pool in self._pools)

    @override
    def block_tensors(self, block: int) -> tuple[torch.Tensor, ...]:
        return tuple(tensor for pool in self._pools for tensor in pool.block_tensors(block))


@dataclass(frozen=True, slots=True, eq=False)
class _SplitReader(KVReader):
    """Asks the reader of each layer's own pool."""

    places: tuple[tuple[KVReader, int], ...]

    @override
    def read(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        reader, own_layer = self.places[layer]
        return reader.read(own_layer)
