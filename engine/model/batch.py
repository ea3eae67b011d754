"""The tensors of one forward pass, and what every decoder promises. Built by engine.runner."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

from engine.kv.storage import PagedStorage


class ForwardInterruptedError(Exception):
    """The forward pass was given up between two layers, because the user pressed Stop.

    Nothing counts as computed; rows already written to the cache are written again later.
    """


@dataclass(slots=True)
class Segment:
    """The rows of one request inside a flat batch.

    Rows ``[start, start + length)`` of the batch are the request's tokens
    ``[context, context + length)``; ``block_ids`` covers tokens ``[0, context + length)`` in the
    first group of layers, ``window_ids`` in each of the others. Entries that no row looks back on
    name the null block.
    """

    start: int
    length: int
    context: int
    block_ids: tuple[int, ...]
    window_ids: tuple[tuple[int, ...], ...] = ()

    def table(self, group: int) -> tuple[int, ...]:
        """The block table of a group of layers."""
        return self.window_ids[group - 1] if group else self.block_ids


@dataclass(slots=True)
class ForwardBatch:
    """One flat batch of T tokens from several requests; R of its rows need logits.

    token_ids, positions: int64 [T]. slots: int64 [T], each token's place in the paged pool
    (block id x block size + offset) of the first group of layers; window_slots: in the others'.
    logit_rows: int64 [R].
    """

    token_ids: torch.Tensor
    positions: torch.Tensor
    slots: torch.Tensor
    segments: tuple[Segment, ...]
    logit_rows: torch.Tensor
    window_slots: tuple[torch.Tensor, ...] = ()

    def slots_of(self, group: int) -> torch.Tensor:
        """Each token's place in the pool of a group of layers."""
        return self.window_slots[group - 1] if group else self.slots


class Decoder(Protocol):
    """A decoder-only model on one device."""

    @property
    def weights_bytes(self) -> int:
        """Bytes of all weights as allocated, tied ones counted once."""
        ...

    def forward(
        self, batch: ForwardBatch, storage: PagedStorage, interrupted: Callable[[], bool]
    ) -> torch.Tensor:
        """Append the batch's K and V to ``storage`` and return logits, float32 [R, vocab_size].

        Calls ``interrupted()`` between layers; raises ForwardInterruptedError when it is true.
        """
        ...
