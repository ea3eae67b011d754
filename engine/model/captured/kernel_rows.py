"""Appending and attending for captured steps through the Triton kernels."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from typing_extensions import override

from engine.kernels.gpu.append import append
from engine.kernels.gpu.attention import Sight, attend, num_parts
from engine.kernels.gpu.cache import LayerCache, QuantisedParts
from engine.kernels.gpu.language import TritonError
from engine.kv.quantized import QuantizedStorage
from engine.kv.storage import PagedStorage
from engine.model.captured.inputs import StepInputs
from engine.model.captured.rows import DecoderShape, PagedRows, Places, RowsKind


class KernelKind(RowsKind):
    """Makes ``KernelRows``."""

    def __init__(self, places: Places, shape: DecoderShape, processors: int) -> None:
        """``processors``: of the card; keys are shared out in parts to employ them all."""
        self.groups, parts = places.groups, places.parts
        self.caches = [
            layer_cache(parts[group], own, shape.dtype)
            for group, own in zip(places.groups, places.own, strict=True)
        ]
        self.sights = [Sight(window, shape.heads.softcap) for window in shape.windows]
        self._kv_heads = shape.heads.num_kv_heads
        self._processors = processors

    @property
    @override
    def name(self) -> str:
        return "paged attention in Triton"

    @property
    @override
    def failures(self) -> tuple[type[Exception], ...]:
        # it asserts that the driver's library is in the linker's cache
        return (TritonError, AssertionError)

    @override
    def width(self, rows: int, blocks: int, most: int) -> int | None:
        return most

    @override
    def begin(self, inputs: StepInputs) -> "KernelRows":
        rows, blocks = inputs.tables[0].shape
        tokens = blocks * self.caches[0].block_size
        parts = [
            num_parts(rows, self._kv_heads, sight.window or tokens, self._processors)
            for sight in self.sights
        ]
        return KernelRows(self, inputs, (inputs.positions + 1).int(), parts)


@dataclass(frozen=True, slots=True, eq=False)
class KernelRows(PagedRows):
    """One step. ``lengths``: int32 [rows]; ``parts``: for each of the windows."""

    kind: KernelKind
    inputs: StepInputs
    lengths: torch.Tensor
    parts: Sequence[int]

    @override
    def append(self, layer: int, keys_values: torch.Tensor) -> None:
        slots = self.inputs.slots[self.kind.groups[layer]]
        append(self.kind.caches[layer], keys_values, slots, self.inputs.sources)

    @override
    def attend(self, layer: int, queries: torch.Tensor, window: int) -> torch.Tensor:
        table = self.inputs.tables[self.kind.groups[layer]]
        sight, parts = self.kind.sights[window], self.parts[window]
        return attend(self.kind.caches[layer], queries, table, self.lengths, sight, parts)


def layer_cache(storage: PagedStorage, layer: int, dtype: torch.dtype) -> LayerCache:
    """One layer of a storage, as the kernels know it; ``dtype``: what is computed in."""
    geometry = storage.geometry
    store, parts = None, None
    if isinstance(storage, QuantizedStorage):
        store = storage.codes[layer]
        parts = QuantisedParts(
            storage.parameters[layer],
            storage.factors[layer],
            storage.centres[layer],
            storage.rotation,
            storage.rotation.to(dtype),
        )
    return LayerCache(
        geometry.format,
        geometry.num_kv_heads,
        geometry.head_dim,
        geometry.block_size,
        storage.pool[layer] if store is None else store,
        parts,
    )
