"""A compressed cache for many requests: entries in the blocks of the pool, one state a request.

Addressed as the paged cache is, by a request's block table, so that the scheduler sees no
difference. A request's state is found by its first block, which no other request can own: blocks
of a compressed cache are never shared, since a prefix is worth nothing without the state at its
end. A step over the tokens [context, end) of a request::

    step = storage.begin(block_ids, context, length)   rows of the step before are settled
    step.tail / step.read        what attention and the pools look back on
    step.write                   entries of groups that became complete
    step.stage                   rows to be kept token by token
    step.finish()                after the last layer

A step that is given up before ``finish`` leaves nothing behind but entries that are written again
when it is repeated, and that nobody reads before. A finished one can be taken back, in whole or
in part, by beginning the next one earlier. Decided elsewhere: which entries attention looks at.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import torch
from typing_extensions import override

from engine.kv.compressed_entries import EntryPool
from engine.kv.compressed_geometry import CompressedGeometry
from engine.kv.compressed_state import CacheStateError, RequestState, StagedRows, TailShape
from engine.kv.storage import KVReader, PagedStorage, float_type

_REFUSED = 32  # drafts at the end of a step that may be refused


class Entries(IntEnum):
    """Kinds of compressed entries."""

    CSA = 0
    INDEX = 1
    HCA = 2


class Tail(IntEnum):
    """Kinds of rows kept token by token: keys of the window, projections to be pooled."""

    WINDOW = 0
    CSA = 1
    HCA = 2


class CompressedStorage(PagedStorage):
    """The pool and the states of all requests. Layers count within their kind."""

    def __init__(self, geometry: CompressedGeometry, device: torch.device) -> None:
        """Allocate the pool."""
        self.geometry: CompressedGeometry = geometry
        self.dtype = float_type(geometry.format)
        self.device = device
        shape, size = geometry.compression, geometry.block_size
        if size % shape.block_size:
            raise ValueError(f"blocks of {size} tokens hold no whole number of entries")
        self._strides = (shape.csa_stride, shape.csa_stride, shape.hca_stride)
        kinds = (
            (shape.csa_layers, geometry.head_dim),
            (shape.csa_layers, shape.index_dim),
            (shape.hca_layers, geometry.head_dim),
        )
        self._pools = tuple(
            EntryPool(layers, geometry.num_blocks * size // stride, width, geometry.form, device)
            for (layers, width), stride in zip(kinds, self._strides, strict=True)
        )
        self._tails = (
            TailShape(geometry.num_layers, shape.window, geometry.head_dim),
            TailShape(shape.csa_layers, 2 * shape.csa_stride, geometry.csa_width),
            TailShape(shape.hca_layers, shape.hca_stride, geometry.hca_width),
        )
        self._states: dict[int, RequestState] = {}
        self._spare: list[RequestState] = []

    @property
    def entry_bytes(self) -> int:
        """Bytes allocated for entries."""
        return sum(pool.nbytes for pool in self._pools)

    @property
    def state_bytes(self) -> int:
        """Bytes allocated for states, those that wait for a request included."""
        return sum(state.nbytes for state in (*self._states.values(), *self._spare))

    @property
    def staged_bytes(self) -> int:
        """Bytes of the rows that the last steps left, until the next ones settle them."""
        return sum(state.staged_bytes for state in self._states.values())

    @property
    def num_states(self) -> int:
        """States that belong to a request, as far as is known."""
        return len(self._states)

    @property
    @override
    def nbytes(self) -> int:
        return self.entry_bytes + self.state_bytes

    def release(self, block_ids: Sequence[int]) -> None:
        """Hear that a request gave its blocks back; its state waits for the next one.

        Only saves memory: whoever is not told finds out when a block has a new owner.
        """
        for block in block_ids[:1]:
            self._drop(block)

    def begin(self, block_ids: Sequence[int], context: int, length: int) -> "RequestStep":
        """Prepare a step over the tokens [context, context + length) of one request.

        ``block_ids`` covers them all. Raises CacheStateError when the request's last step does
        not lead to ``context``.
        """
        size = self.geometry.block_size
        num_blocks = -(-(context + length) // size)
        if num_blocks > len(block_ids):
            raise ValueError(f"{context + length} tokens need {num_blocks} blocks")
        first = block_ids[0]
        # a block that is new to this request was its former owner's, who is gone
        for block in block_ids[max(1, context // size) : num_blocks]:
            self._drop(block)
        state = self._states.get(first)
        if state is None:
            if context:
                raise CacheStateError(f"block {first} has no state of {context} tokens")
            state = self._take()
            self._states[first] = state
        state.settle(context)
        return RequestStep(self, state, tuple(block_ids[:num_blocks]), context, length)

    def entries(self, kind: Entries) -> EntryPool:
        """The entries of one kind, all requests'."""
        return self._pools[kind]

    def stride(self, kind: Entries) -> int:
        """Tokens that one entry of ``kind`` stands for."""
        return self._strides[kind]

    def empty_rows(self, kind: Tail, count: int) -> torch.Tensor:
        """Room for the last of ``count`` rows of a step in every layer, as many as may matter."""
        tail = self._tails[kind]
        shape = (tail.layers, min(count, tail.capacity + _REFUSED), tail.width)
        return torch.empty(shape, dtype=self.dtype, device=self.device)

    @override
    def append(self, layer: int, slots: torch.Tensor, keys_values: torch.Tensor) -> None:
        raise TypeError("a compressed cache keeps no key and value a token")

    @override
    def reader(self, block_ids: Sequence[int], length: int, dtype: torch.dtype) -> KVReader:
        raise TypeError("a compressed cache keeps no key and value a token")

    @override
    def block_tensors(self, block: int) -> tuple[torch.Tensor, ...]:
        raise TypeError("a block of a compressed cache is worth nothing without its state")

    def _take(self) -> RequestState:
        if self._spare:
            return self._spare.pop()
        return RequestState(self._tails, self.dtype, self.device)

    def _drop(self, first_block: int) -> None:
        state = self._states.pop(first_block, None)
        if state is not None:
            state.clear()
            self._spare.append(state)


@dataclass(slots=True, eq=False)
class RequestStep:
    """One request's past, and what a step over [context, context + length) adds to it."""

    storage: CompressedStorage
    state: RequestState
    block_ids: tuple[int, ...]
    context: int
    length: int
    _rows: tuple[torch.Tensor, ...] = field(init=False)
    _blocks: torch.Tensor | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._rows = tuple(self.storage.empty_rows(kind, self.length) for kind in Tail)
        first = self.block_ids[0]
        if self.block_ids != tuple(range(first, first + len(self.block_ids))):
            device = self.storage.device
            self._blocks = torch.tensor(self.block_ids, dtype=torch.int64, device=device)

    @property
    def end(self) -> int:
        """Tokens of the request after the step."""
        return self.context + self.length

    def tail(self, kind: Tail, layer: int, first: int) -> list[torch.Tensor]:
        """Rows of the tokens [first, context), as one or two views [n, width]."""
        return self.state.tail(kind, layer, first)

    def stage(self, kind: Tail, layer: int, rows: torch.Tensor) -> None:
        """Hold the rows [length, width] of this step's tokens, as many as will be needed."""
        kept = self._rows[kind][layer]
        kept.copy_(rows[self.length - kept.shape[0] :])

    def write(self, kind: Entries, layer: int, first: int, rows: torch.Tensor) -> None:
        """Keep ``rows`` [n, width] as the request's entries [first, first + n)."""
        numbers = torch.arange(first, first + rows.shape[0], device=self.storage.device)
        self.storage.entries(kind).write(layer, self._places(kind, numbers), rows)

    def read(
        self, kind: Entries, layer: int, first: int, last: int, dtype: torch.dtype
    ) -> torch.Tensor:
        """The request's entries [first, last), [n, width]."""
        pool = self.storage.entries(kind)
        if self._blocks is None:
            per_block = self.storage.geometry.block_size // self.storage.stride(kind)
            start = self.block_ids[0] * per_block
            return pool.read(layer, slice(start + first, start + last), dtype)
        numbers = torch.arange(first, last, device=self.storage.device)
        return pool.read(layer, self._places(kind, numbers), dtype)

    def gather(
        self, kind: Entries, layer: int, numbers: torch.Tensor, dtype: torch.dtype
    ) -> torch.Tensor:
        """The request's entries ``numbers`` (int64, any shape [...]): [..., width]."""
        return self.storage.entries(kind).read(layer, self._places(kind, numbers), dtype)

    def finish(self) -> None:
        """Leave the staged rows to the next step."""
        self.state.stage(StagedRows(self.context, self.end, self._rows))

    def _places(self, kind: Entries, numbers: torch.Tensor) -> torch.Tensor:
        """Where the request's entries lie in the pool."""
        per_block = self.storage.geometry.block_size // self.storage.stride(kind)
        if self._blocks is None:
            return numbers + self.block_ids[0] * per_block
        blocks = self._blocks[numbers // per_block]
        return blocks * per_block + numbers % per_block
