"""Logits to tokens for one batch. Knows rows and parameters, nothing of models or schedules."""

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch

from engine.api import SamplingParams
from engine.errors import EngineError
from engine.sampling.adjustment import adjusted, is_plain
from engine.sampling.candidates import Row, find_candidates
from engine.sampling.constraint import TokenConstraint
from engine.sampling.params import is_greedy
from engine.sampling.uniform import uniform


class SamplingRow(Protocol):
    """What the choice of one token depends on; ``scheduling.plan.ScheduledChunk`` is one."""

    @property
    def params(self) -> SamplingParams:
        """How to choose."""
        ...

    @property
    def seed(self) -> int:
        """The request's seed."""
        ...

    @property
    def sample_index(self) -> int:
        """Which output token of its request this is, from 0."""
        ...

    @property
    def known_ids(self) -> Sequence[int]:
        """Prompt and output tokens so far."""
        ...

    @property
    def constraint(self) -> TokenConstraint | None:
        """What the answer must follow, if anything."""
        ...


class Sampler:
    """Chooses one token a row.

    A draw depends on the row's logits, seed and sample index alone, never on its neighbours. For
    one thread at a time.
    """

    def __init__(self) -> None:
        self._scratch: Row = np.empty(0, dtype=np.float32)

    def sample(self, logits: torch.Tensor, chunks: Sequence[SamplingRow]) -> list[int]:
        """Choose from float32 [R, V]; ``chunks`` are in the logits' order, R of them.

        Does not modify ``logits``. Raises EngineError when the model produced no numbers.
        """
        assert len(chunks) == logits.shape[0], "one row a choice"
        if not logits.is_cpu:
            if all(map(_is_plain_greedy, chunks)):
                return _likeliest(logits)
            logits = logits.cpu()
        host = logits.numpy()
        if len(self._scratch) != host.shape[1]:
            self._scratch = np.empty(host.shape[1], dtype=np.float32)
        return [_choose(host[index], row, self._scratch) for index, row in enumerate(chunks)]


def _is_plain_greedy(row: SamplingRow) -> bool:
    return is_greedy(row.params) and row.constraint is None and is_plain(row.params)


def _likeliest(logits: torch.Tensor) -> list[int]:
    """The likeliest token of each row, of equals the first; only these leave the device."""
    best = logits.max(dim=-1)
    if not best.values.isfinite().all():
        raise _no_numbers()
    choices: list[int] = best.indices.tolist()
    return choices


def _choose(logits: Row, row: SamplingRow, scratch: Row) -> int:
    params = row.params
    if not is_plain(params) or row.constraint is not None:
        output = row.known_ids[len(row.known_ids) - row.sample_index :]
        logits = adjusted(logits, params, row.known_ids, output)
        if row.constraint is not None:
            logits = _constrained(logits, row.constraint, output)
    likeliest = int(logits.argmax())  # one that is no number counts as the largest
    best = float(logits[likeliest])
    if not math.isfinite(best):
        raise _no_numbers()
    if is_greedy(params):
        return likeliest
    found = find_candidates(logits, params, best, scratch)
    if len(found.ids) == 1:
        return likeliest
    return found.choose(uniform(row.seed, row.sample_index))


def _constrained(logits: Row, constraint: TokenConstraint, output: Sequence[int]) -> Row:
    """``logits``, a copy of the row, without the tokens that may not follow."""
    allowed = constraint.allowed(output)
    logits[: len(allowed)][~allowed] = -np.inf
    logits[len(allowed) :] = -np.inf  # rows of the head that no token stands for
    return logits


def _no_numbers() -> EngineError:
    return EngineError(
        "The model's output is not a number, so the answer stops here; the text so far was kept. "
        "Load the model again, or with another weight precision."
    )
