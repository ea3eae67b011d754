"""The steps from logits to a distribution, each a pure function over the whole vocabulary.

This is the slow twin that says what sampling means; ``engine.sampling.sampler`` computes the same
from the few candidates that matter. Order: repetition penalty, presence
and frequency penalties, bias, temperature, typical, top-k, top-p, min-p; filter sees the distribution the one before left, renormalised. Among equal logits the
smaller token id comes first.

Logits are float32 [R, V]; a dropped token is -inf. No function changes its argument.
"""

from collections.abc import Sequence

import torch

from engine.api import SamplingParams


def penalise_repetition(
    logits: torch.Tensor, windows: Sequence[Sequence[int]], penalty: float
) -> torch.Tensor:
    """Divide positive and multiply negative logits of the tokens in each row's window."""
    result = logits.clone()
    for row, window in enumerate(windows):
        ids = torch.tensor(sorted(set(window)), dtype=torch.int64, device=logits.device)
        seen = result[row, ids]
        result[row, ids] = torch.where(seen > 0, seen / penalty, seen * penalty)
    return result


def penalise_presence(
    logits: torch.Tensor, outputs: Sequence[Sequence[int]], presence: float, frequency: float
) -> torch.Tensor:
    """Take ``presence`` once and ``frequency`` each time from tokens that a row's answer has."""
    result = logits.clone()
    for row, output in enumerate(outputs):
        for token in output:
            result[row, token] -= frequency
        for token in set(output):
            result[row, token] -= presence
    return result


def keep_typical(logits: torch.Tensor, typical_p: float) -> torch.Tensor:
    """Keep the tokens whose surprise is nearest to the entropy, until they reach ``typical_p``.

    Locally typical sampling, Meister et al. (arXiv 2202.00666); 1 keeps all.
    """
    if typical_p >= 1:
        return logits
    probabilities = logits.double().softmax(dim=-1)
    surprise = -probabilities.log()
    entropy = torch.where(probabilities > 0, probabilities * surprise, 0).sum(-1, keepdim=True)
    order = (surprise - entropy).abs().sort(dim=-1, stable=True).indices
    ordered = probabilities.gather(-1, order)
    before = ordered.cumsum(dim=-1) - ordered
    dropped = torch.zeros_like(before, dtype=torch.bool)
    dropped.scatter_(-1, order, before >= typical_p)
    return logits.masked_fill(dropped, -torch.inf)


def scale_by_temperature(logits: torch.Tensor, temperature: float) -> torch.Tensor:
    """Logits over ``temperature``, which is above 0."""
    return logits / temperature


def keep_top_k(logits: torch.Tensor, top_k: int) -> torch.Tensor:
    """Keep the ``top_k`` largest of each row; 0 keeps all."""
    if not 0 < top_k < logits.shape[-1]:
        return logits
    order = logits.sort(dim=-1, descending=True, stable=True).indices
    return logits.scatter(-1, order[:, top_k:], -torch.inf)


def keep_top_p(logits: torch.Tensor, top_p: float) -> torch.Tensor:
    """Keep the fewest largest tokens whose probabilities reach ``top_p`` together; 1 keeps all."""
    if top_p >= 1:
        return logits
    values, order = logits.sort(dim=-1, descending=True, stable=True)
    probabilities = values.double().softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    return logits.scatter(-1, order, values.masked_fill(before >= top_p, -torch.inf))


def keep_min_p(logits: torch.Tensor, min_p: float) -> torch.Tensor:
    """Keep tokens at least ``min_p`` times as likely as the likeliest; 0 keeps all."""
    if min_p <= 0:
        return logits
    best = logits.amax(dim=-1, keepdim=True)
    ratio = (logits.double() - best.double()).exp()
    return logits.masked_fill(ratio < min_p, -torch.inf)


def distribution(logits: torch.Tensor, params: SamplingParams) -> torch.Tensor:
    """Probabilities of every token, float64 [R, V], after all steps but the penalties."""
    scaled = scale_by_temperature(logits, params.temperature)
    kept = keep_top_k(keep_typical(scaled, params.typical_p), params.top_k)
    kept = keep_min_p(keep_top_p(kept, params.top_p), params.min_p)
    return kept.double().softmax(dim=-1)
