"""What a compressed cache still needs token by token: a short past of each request.

A request's *state* is rings of its last tokens' rows, in every layer: keys of the window, and
projections of groups that are not complete. A step reads the past and leaves new rows behind, and
whether it counts is known only later: it may be given up between two layers, fail after them, or
have computed drafts that are refused. So a step's rows are held apart until the next step says
how many tokens were computed::

    ring     ... rows before `context` ...      what the step read, and what it would read again
    staged       [context ............ end)     become part of the ring up to the next `context`

Nothing here knows layers' kinds or weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch


class CacheStateError(AssertionError):
    """A step does not follow from what its request computed before: a fault of the caller."""


@dataclass(frozen=True, slots=True)
class TailShape:
    """One kind of row: ``layers`` layers keep ``capacity`` rows of ``width`` values each."""

    layers: int
    capacity: int
    width: int


@dataclass(frozen=True, slots=True, eq=False)
class StagedRows:
    """The last rows of a step over the tokens [context, end), one tensor a kind.

    Each tensor is [layers, n, width] and holds the rows of the tokens [end - n, end).
    """

    context: int
    end: int
    tails: tuple[torch.Tensor, ...]


class RequestState:
    """The rings of one request, by kind. Row p of a ring lies at p mod its capacity."""

    def __init__(
        self, shapes: Sequence[TailShape], dtype: torch.dtype, device: torch.device
    ) -> None:
        """Allocate the rings, empty."""
        self._rings = tuple(
            torch.zeros(s.layers, s.capacity, s.width, dtype=dtype, device=device) for s in shapes
        )
        self._length = 0
        self._staged: StagedRows | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the rings."""
        return sum(ring.numel() * ring.element_size() for ring in self._rings)

    @property
    def staged_bytes(self) -> int:
        """Bytes of the last step's rows, held until the next one."""
        tails = () if self._staged is None else self._staged.tails
        return sum(tail.numel() * tail.element_size() for tail in tails)

    def clear(self) -> None:
        """Begin a request anew."""
        self._length = 0
        self._staged = None

    def settle(self, context: int) -> None:
        """Take over what the last step computed, up to ``context`` tokens in all.

        Raises CacheStateError when no step, or no part that was kept, led to ``context``.
        """
        if context == 0:
            self.clear()
        staged, self._staged = self._staged, None
        if context != self._length:
            if staged is None or not staged.context < context <= staged.end:
                raise CacheStateError(f"the state is at {self._length} tokens, not at {context}")
            for ring, rows in zip(self._rings, staged.tails, strict=True):
                _append(ring, rows, staged, context)
        self._length = context

    def stage(self, rows: StagedRows) -> None:
        """Keep what a step leaves behind, in place of what another one left."""
        if rows.context != self._length:
            raise CacheStateError(f"rows from {rows.context} on do not follow {self._length}")
        self._staged = rows

    def tail(self, kind: int, layer: int, first: int) -> list[torch.Tensor]:
        """Rows of the tokens [first, settled length) in order, as one or two views [n, width]."""
        ring = self._rings[kind][layer]
        capacity, count = ring.shape[0], self._length - first
        if not 0 <= count <= capacity:
            raise CacheStateError(f"{count} rows are wanted of a ring of {capacity}")
        start = first % capacity
        if start + count <= capacity:
            return [ring[start : start + count]]
        return [ring[start:], ring[: start + count - capacity]]


def _append(ring: torch.Tensor, rows: torch.Tensor, staged: StagedRows, end: int) -> None:
    """Copy the rows of tokens before ``end`` into the ring."""
    capacity = ring.shape[1]
    first = staged.end - rows.shape[1]
    start = max(first, end - capacity)
    if first > max(staged.context, end - capacity):
        raise CacheStateError(f"rows before {first} were not kept, and {end} needs them")
    places = torch.arange(start, end, device=ring.device) % capacity
    ring.index_copy_(1, places, rows[:, start - first : end - first])
