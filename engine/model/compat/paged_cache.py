"""The paged K/V pool as transformers sees it: one cache for the rows of one request in one step.

Every layer keeps all tokens; the masks of transformers hide what a sliding layer does not see.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin
from typing_extensions import override

from engine.kv.storage import KVReader, PagedStorage
from engine.model.batch import ForwardInterruptedError

Store = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


@dataclass(frozen=True, slots=True)
class LayerShape:
    """What one layer caches of a token: ``num_heads`` keys and as many values."""

    num_heads: int
    key_dim: int
    value_dim: int


@dataclass(frozen=True, slots=True, eq=False)
class SegmentStep:
    """One request's rows of a step. ``slots``: int64 [length]; ``reader`` covers all its tokens."""

    storage: PagedStorage
    slots: torch.Tensor
    reader: KVReader
    context: int
    length: int
    interrupted: Callable[[], bool]


class StepLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]  # its __init_subclass__ has no types
    """One layer of one request in one step: hands K and V on, and says how many tokens there are."""

    is_sliding = False

    def __init__(self, context: int, store: Store) -> None:
        """``store`` takes the new K and V and returns those of all tokens; ``context`` came before."""
        self.keys = None
        self.values = None
        self.is_initialized = True
        self._length = context
        self._store = store

    @override
    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        return

    @override
    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self._length += key_states.shape[2]
        return self._store(key_states, value_states)

    @override
    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._length + query_length, 0

    @override
    def get_seq_length(self) -> int:
        return self._length

    @override
    def get_max_length(self) -> int:
        return -1


@dataclass(frozen=True, slots=True, eq=False)
class _PagedStore:
    """Appends to one layer of the pool, and reads the whole request back.

    A layer narrower than the pool's rows leaves the rest of them zero.
    """

    index: int
    shape: LayerShape
    step: SegmentStep

    def __call__(
        self, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """K and V of the step, [1, heads, T, dim], to those of all tokens."""
        step, shape = self.step, self.shape
        if step.interrupted():
            raise ForwardInterruptedError
        step.storage.append(self.index, step.slots, self._rows(keys, values))
        keys, values = step.reader.read(self.index)
        return (
            keys[: shape.num_heads, :, : shape.key_dim].unsqueeze(0),
            values[: shape.num_heads, :, : shape.value_dim].unsqueeze(0),
        )

    def _rows(self, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """As rows of the pool, [T, 2 * num_kv_heads, head_dim]."""
        geometry, shape = self.step.storage.geometry, self.shape
        wanted = LayerShape(geometry.num_kv_heads, geometry.head_dim, geometry.head_dim)
        if shape == wanted:
            return torch.cat((keys[0], values[0])).transpose(0, 1)
        rows = keys.new_zeros(keys.shape[2], 2, geometry.num_kv_heads, geometry.head_dim)
        rows[:, 0, : shape.num_heads, : shape.key_dim] = keys[0].transpose(0, 1)
        rows[:, 1, : shape.num_heads, : shape.value_dim] = values[0].transpose(0, 1)
        return rows.flatten(1, 2)


class Probe:
    """Notes the shapes that a layer caches, and keeps nothing."""

    def __init__(self) -> None:
        self.shapes: list[LayerShape] = []

    def __call__(
        self, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return both as they came; raises ValueError if there are not as many of each."""
        _, num_heads, _, key_dim = keys.shape
        if values.shape[1] != num_heads:
            raise ValueError("keys and values differ in number")
        self.shapes.append(LayerShape(num_heads, key_dim, values.shape[3]))
        return keys, values


def paged_cache(shapes: Sequence[LayerShape], step: SegmentStep) -> Cache:
    """A cache for one forward pass over the rows of ``step``."""
    stores = [_PagedStore(index, shape, step) for index, shape in enumerate(shapes)]
    return Cache(layers=[StepLayer(step.context, store) for store in stores])
