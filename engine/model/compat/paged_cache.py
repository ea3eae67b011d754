"""The paged K/V pool as transformers sees it: one cache for the rows of one request in one step.

Sliding layers hand out what their window has not left behind, in whole blocks; the masks of
transformers hide what is too much.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin
from typing_extensions import override

from engine.kv.storage import KVReader, PagedStorage
from engine.model.batch import ForwardBatch, ForwardInterruptedError, Segment

Store = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


@dataclass(frozen=True, slots=True)
class LayerShape:
    """What one layer caches of a token: ``num_heads`` keys and as many values."""

    num_heads: int
    key_dim: int
    value_dim: int


@dataclass(frozen=True, slots=True, eq=False)
class GroupView:
    """The tokens of one request in the pool of a group of layers.

    ``slots``: int64 [length], of the step's rows; ``reader`` covers all tokens from ``offset`` on.
    """

    slots: torch.Tensor
    reader: KVReader
    offset: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class SegmentStep:
    """One request's rows of a step. ``views``: one a group of layers."""

    storage: PagedStorage
    views: Sequence[GroupView]
    context: int
    interrupted: Callable[[], bool]


def view_segment(
    storage: PagedStorage,
    batch: ForwardBatch,
    segment: Segment,
    dtype: torch.dtype,
    interrupted: Callable[[], bool],
) -> SegmentStep:
    """The rows and the cache of one request in a step."""
    span = slice(segment.start, segment.start + segment.length)
    total = segment.context + segment.length
    geometry = storage.geometry
    windows = [group.window for group in geometry.groups] or [0]
    views = []
    for group, window in enumerate(windows):
        unseen = max(0, segment.context - window + 1) // geometry.block_size if window else 0
        offset = unseen * geometry.block_size
        blocks = segment.table(group)[unseen:]
        reader = storage.layer_reader(group, blocks, total - offset, dtype)
        views.append(GroupView(batch.slots_of(group)[span], reader, offset))
    return SegmentStep(storage, views, segment.context, interrupted)


class StepLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]  # its __init_subclass__ has no types
    """One layer of one request in one step: hands K and V on, and says how many tokens there are."""

    is_sliding = False

    def __init__(
        self, context: int, store: Store, offset: int = 0, *, is_sliding: bool = False
    ) -> None:
        """``store`` takes the new K and V and returns those of all tokens from ``offset`` on.

        ``context`` tokens came before.
        """
        self.is_sliding = is_sliding
        self._offset = offset
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
        return self._length + query_length - self._offset, self._offset

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
    view: GroupView

    def __call__(
        self, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """K and V of the step, [1, heads, T, dim], to those of all tokens in view."""
        step, shape = self.step, self.shape
        if step.interrupted():
            raise ForwardInterruptedError
        step.storage.append(self.index, self.view.slots, self._rows(keys, values))
        keys, values = self.view.reader.read(self.index)
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
    groups = step.storage.geometry.groups
    places = {layer: i for i, group in enumerate(groups) for layer in group.layers}
    layers: list[Any] = []  # what transformers wants is invariant
    for index, shape in enumerate(shapes):
        group = places.get(index, 0)
        view = step.views[group]
        store = _PagedStore(index, shape, step, view)
        is_sliding = bool(groups) and groups[group].window > 0
        layers.append(StepLayer(step.context, store, view.offset, is_sliding=is_sliding))
    return Cache(layers=layers)
