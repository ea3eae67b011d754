"""Logits after penalties and biases, one row in host memory. Agrees with ``sampling.steps``."""

from collections.abc import Sequence

import numpy as np

from engine.api import SamplingParams
from engine.sampling.candidates import Row


def is_plain(params: SamplingParams) -> bool:
    """Whether logits stay as the model gave them."""
    return (
        params.repetition_penalty == 1
        and not params.presence_penalty
        and not params.frequency_penalty
        and not params.logit_bias
    )


def adjusted(
    logits: Row, params: SamplingParams, known_ids: Sequence[int], output_ids: Sequence[int]
) -> Row:
    """A copy of ``logits``, float32 [V], with everything that ``params`` adds and takes.

    ``known_ids``: prompt and answer, for the repetition penalty; ``output_ids``: the answer
    alone, for the presence and frequency penalties.
    """
    result = logits.copy()
    if params.repetition_penalty != 1 and params.repetition_window:
        _penalise_repetition(result, known_ids[-params.repetition_window :], params)
    if output_ids and (params.presence_penalty or params.frequency_penalty):
        ids, counts = np.unique(np.asarray(output_ids, dtype=np.int64), return_counts=True)
        taken = params.presence_penalty + counts * params.frequency_penalty
        result[ids] -= taken.astype(np.float32)
    for token_id, bias in params.logit_bias:
        if token_id < len(result):
            result[token_id] += np.float32(bias)
    return result


def _penalise_repetition(logits: Row, window: Sequence[int], params: SamplingParams) -> None:
    ids = np.unique(np.asarray(window, dtype=np.int64))
    seen = logits[ids]
    penalty = np.float32(params.repetition_penalty)
    logits[ids] = np.where(seen > 0, seen / penalty, seen * penalty)
