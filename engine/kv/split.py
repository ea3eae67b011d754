"""K and V of a model whose layers lie on several devices: one pool each, under one block table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from typing_extensions import override

from engine.config import KVGeometry
from engine.kv.quantized import make_storage
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
        self.pools = tuple(
            make_storage(replace(geometry, num_layers=count), device) for device, count in runs
        )
        self.dtype = self.pools[0].dtype
        self._places = tuple(
            (pool, layer) for pool in self.pools for layer in range(pool.geometry.num_layers)
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
        readers = [pool.reader(block_ids, length, dtype) for pool in self.pools]
        return _SplitReader(
            tuple(
                (reader, layer)
                for reader, pool in zip(readers, self.pools, strict=True)
                for layer in range(pool.geometry.num_layers)
            )
        )


@dataclass(frozen=True, slots=True, eq=False)
class _SplitReader(KVReader):
    """Asks the reader of each layer's own pool."""

    places: tuple[tuple[KVReader, int], ...]

    @override
    def read(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        reader, own_layer = self.places[layer]
        return reader.read(own_layer)
