"""Logits to tokens for one batch. Knows rows and parameters, nothing of models or schedules."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch

from engine.api import SamplingParams
from engine.errors import EngineError
from engine.sampling.candidates import Row, find_candidates
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


class Sampler:
    """Chooses one token a row.

    A draw depends on the row's logits, seed and sample index alone, never on its neighbours.
    """

    def sample(self, logits: torch.Tensor, chunks: Sequence[SamplingRow]) -> list[int]:
        """Choose from float32 [R, V]; ``chunks`` are in the logits' order, R of them.

        Does not modify ``logits``. Raises EngineError when the model produced no numbers.
        """
        assert len(chunks) == logits.shape[0], "one row a choice"
        if all(_is_plain_greedy(row.params) for row in chunks):
            best = logits.max(dim=-1)
            if not bool(best.values.isfinite().all()):
                raise _no_numbers()
            return [int(token) for token in best.indices.tolist()]
        host = logits.cpu().numpy()
        return [_choose(host[index], row) for index, row in enumerate(chunks)]


def _is_plain_greedy(params: SamplingParams) -> bool:
    return is_greedy(params) and params.repetition_penalty == 1


def _choose(logits: Row, row: SamplingRow) -> int:
    params = row.params
    if params.repetition_penalty != 1 and params.repetition_window:
        logits = _penalised(logits, row.known_ids[-params.repetition_window :], params)
    best = int(logits.argmax())
    if not np.isfinite(logits[best]):
        raise _no_numbers()
    if is_greedy(params):
        return best
    return find_candidates(logits, params).choose(uniform(row.seed, row.sample_index))


def _penalised(logits: Row, window: Sequence[int], params: SamplingParams) -> Row:
    ids = np.unique(np.asarray(window, dtype=np.int64))
    seen = logits[ids]
    penalty = np.float32(params.repetition_penalty)
    result = logits.copy()
    result[ids] = np.where(seen > 0, seen / penalty, seen * penalty)
    return result


def _no_numbers() -> EngineError:
    return EngineError(
        "The model's output is not a number, so the answer stops here; the text so far was kept. "
        "Load the model again, or with another weight precision."
    )
