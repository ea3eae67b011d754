"""One step of the engine on the device: a plan becomes tensors, logits, and chosen tokens.

Knows the decoder, the storage and the sampler; not the scheduler, and no request's state.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import numpy as np
import torch

from engine.api import SamplingParams
from engine.kv.storage import PagedStorage
from engine.kv.transfer import copy_block
from engine.model.batch import Decoder, ForwardBatch, Segment
from engine.sampling.adjustment import is_plain
from engine.sampling.constraint import TokenConstraint
from engine.sampling.sampler import SamplingRow
from engine.scheduling.plan import ScheduledChunk, StepOutput, StepPlan

_CPU = torch.device("cpu")


class TokenSampler(Protocol):
    """What the runner asks of a sampler."""

    def sample(self, logits: torch.Tensor, rows: Sequence[SamplingRow], /) -> list[int]:
        """Choose a token for each row of logits, float32 [R, vocab_size]."""
        ...


def build_batch(plan: StepPlan, block_size: int, device: torch.device) -> ForwardBatch:
    """Lay the plan's chunks, at least one, end to end.

    ::

        rows       [chunk 0 ....... | chunk 1 | chunk 2 ....]
        logit rows              ^^            ^              the last num_logits of each chunk
    """
    token_ids: list[int] = []
    positions: list[int] = []
    logit_rows: list[int] = []
    segments: list[Segment] = []
    for chunk in plan.chunks:
        start, length = len(token_ids), len(chunk.token_ids)
        windows = tuple([table.block_ids for table in chunk.windows])
        segments.append(Segment(start, length, chunk.start, chunk.block_ids, windows))
        token_ids += chunk.token_ids
        positions += range(chunk.start, chunk.start + length)
        logit_rows += range(start + length - chunk.num_logits, start + length)
    numbers = token_ids + positions
    num_groups = 1 + len(segments[0].window_ids)
    for group in range(num_groups):
        numbers += _slots(segments, group, block_size)
    lengths = [len(token_ids)] * (2 + num_groups) + [len(logit_rows)]
    ids, places, slots, *window_slots, rows = _tensors(numbers + logit_rows, lengths, device)
    return ForwardBatch(ids, places, slots, tuple(segments), rows, tuple(window_slots))


def _tensors(
    numbers: list[int], lengths: Sequence[int], device: torch.device
) -> Iterable[torch.Tensor]:
    """``numbers`` as int64 tensors of ``lengths``, one after the other.

    By way of one NumPy array: that takes a third of the time that torch takes for a list, its
    parts cost less than those of a tensor, and a device gets all in one piece: a card from memory
    that stays where it is, so that nobody waits for the copy. torch keeps it until it was read.
    """
    whole = np.array(numbers, dtype=np.int64)
    if device != _CPU:
        packed, is_card = torch.from_numpy(whole), device.type == "cuda"
        packed = packed.pin_memory() if is_card else packed
        return packed.to(device, non_blocking=is_card).split_with_sizes(list(lengths))
    ends = zip(lengths, accumulate(lengths), strict=True)
    return [torch.from_numpy(whole[end - length : end]) for length, end in ends]


def _slots(segments: Sequence[Segment], group: int, block_size: int) -> list[int]:
    """Each token's place in the pool of a group of layers."""
    slots: list[int] = []
    for segment in segments:
        table = segment.table(group)
        for position in range(segment.context, segment.context + segment.length):
            block, offset = divmod(position, block_size)
            slots.append(table[block] * block_size + offset)
    return slots


class Runner:
    """Runs plans, one at a time, in the engine's thread."""

    def __init__(self, decoder: Decoder, storage: PagedStorage, sampler: TokenSampler) -> None:
        self._decoder = decoder
        self._storage = storage
        self._sampler = sampler
        self._forward_total_ns = 0

    def run(self, plan: StepPlan, interrupted: Callable[[], bool]) -> StepOutput:
        """Compute the plan's tokens and choose the next one where a chunk asks for logits.

        Raises ForwardInterruptedError when ``interrupted()`` turns true between two layers: the
        step then never happened.
        """
        start_ns = time.perf_counter_ns()
        for chunk in plan.chunks:
            if chunk.copy is not None:
                copy_block(self._storage.parts[0], *chunk.copy)
            for group, table in enumerate(chunk.windows, start=1):
                if table.copy is not None:
                    copy_block(self._storage.parts[group], *table.copy)
        block_size = self._storage.geometry.block_size
        batch = build_batch(plan, block_size, self._storage.device)
        forward_start_ns = time.perf_counter_ns()
        logits = self._decoder.forward(batch, self._storage, interrupted)
        if logits.is_cuda:
            torch.cuda.synchronize(logits.device)
        forward_end_ns = time.perf_counter_ns()
        self._forward_total_ns += forward_end_ns - forward_start_ns
        sampled = self._sample(plan, logits)
        sampled_ns = time.perf_counter_ns()
        return StepOutput(sampled, forward_end_ns, sampled_ns, self._forward_total_ns, start_ns)

    def _sample(self, plan: StepPlan, logits: torch.Tensor) -> dict[str, tuple[int, ...]]:
        """Tokens by request, of the chunks that ask for them."""
        rows: list[SamplingRow] = []
        for chunk in plan.chunks:
            if chunk.num_logits:
                rows.append(chunk)
            if chunk.num_drafts:
                rows += _draft_rows(chunk)
        tokens = self._sampler.sample(logits, rows) if rows else []
        sampled: dict[str, tuple[int, ...]] = {}
        start = 0
        for chunk in plan.chunks:
            if chunk.num_logits:
                end = start + chunk.num_logits
                sampled[chunk.request_id] = _accepted(chunk, tokens[start:end])
                start = end
        return sampled


@dataclass(frozen=True, slots=True)
class _DraftRow:
    """The choice after one of a chunk's guesses, as if the guess were known."""

    params: SamplingParams
    seed: int
    sample_index: int
    known_ids: Sequence[int]
    constraint: TokenConstraint | None


def _draft_rows(chunk: ScheduledChunk) -> Iterator[SamplingRow]:
    """What the choices after a chunk's guesses are made by; the first, before them, by the chunk."""
    guesses = chunk.token_ids[chunk.num_known :]
    looks_back = not is_plain(chunk.params) or chunk.constraint is not None
    for count in range(1, chunk.num_drafts + 1):
        yield _DraftRow(
            chunk.params,
            chunk.seed,
            chunk.sample_index + count,
            [*chunk.known_ids, *guesses[:count]] if looks_back else chunk.known_ids,
            chunk.constraint,
        )


def _accepted(chunk: ScheduledChunk, tokens: Sequence[int]) -> tuple[int, ...]:
    """The choices up to the first that is not the chunk's guess, that one included.

    Each is what decoding token by token would have chosen: logits, seed and index are the same.
    """
    guesses = chunk.token_ids[chunk.num_known :]
    right = 0
    while right < chunk.num_drafts and tokens[right] == guesses[right]:
        right += 1
    return tuple(tokens[: right + 1])
