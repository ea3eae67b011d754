"""The few tokens a sampled draw can choose from, found without sorting the vocabulary.

NumPy on one row of host memory: its single-threaded passes cost less here than waking the
matrix threads up. Agrees with ``engine.sampling.steps``.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.api import SamplingParams

Row = npt.NDArray[np.float32]

# (tokens wanted, group size): the widest first cut that is still far cheaper than a sort, then a
# wider one for flat distributions, before everything is sorted.
_CUTS = ((256, 64), (2048, 8))


@dataclass(frozen=True, slots=True)
class Candidates:
    """Kept tokens, likeliest first: ``ids`` int64 [n], ``weights`` float64 [n], not normalised."""

    ids: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]

    def choose(self, uniform: float) -> int:
        """The token at quantile ``uniform`` of [0, 1), by inverse cumulative distribution."""
        cumulative = self.weights.cumsum()
        place = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
        return int(self.ids[min(place, len(self.ids) - 1)])


def find_candidates(logits: Row, params: SamplingParams) -> Candidates:
    """What the filters leave of ``logits`` (float32 [V]) at the given temperature.

    In this order: typical, top-k, top-p, min-p.
    """
    best = float(logits.max())
    if params.typical_p < 1:
        logits = _typical(logits, best, params)
        best = float(logits.max())
    if not params.top_k and params.top_p >= 1 and params.min_p <= 0:
        left = np.flatnonzero(logits > -np.inf)
        return Candidates(left, _weights(logits[left], best, params.temperature))
    total = None
    if not params.top_k and params.top_p < 1:
        total = _total_weight(logits, best, params.temperature)
    for wanted, group in _CUTS:
        ids = _largest(logits, max(wanted, params.top_k), group)
        if ids is not None:
            found = _filter(logits, ids, params, best, total)
            if found is not None:
                return found
    found = _filter(logits, np.arange(len(logits)), params, best, total)
    assert found is not None, "the whole vocabulary decides every filter"
    return found


def _largest(logits: Row, wanted: int, group: int) -> npt.NDArray[np.int64] | None:
    """All tokens above a bound that at least ``wanted`` tokens reach; None if groups are too few.

    The bound is the ``wanted``-th largest of the groups' maxima: that many groups hold a token
    that reaches it.
    """
    num_groups = len(logits) // group
    if num_groups <= wanted:
        return None
    maxima = logits[: num_groups * group].reshape(group, num_groups).max(axis=0)
    bound = np.partition(maxima, num_groups - wanted)[num_groups - wanted]
    return np.flatnonzero(logits >= bound)


def _filter(
    logits: Row,
    ids: npt.NDArray[np.int64],
    params: SamplingParams,
    best: float,
    total: float | None,
) -> Candidates | None:
    """Apply the filters to ``ids``, a set closed upwards; None when a filter may reach below it."""
    is_whole = len(ids) == len(logits)
    order = np.argsort(-logits[ids], kind="stable")
    if params.top_k:
        order = order[: params.top_k]
        is_whole = True  # the k largest are all here, and nothing else is of interest
    ids = ids[order]
    weights = _weights(logits[ids], best, params.temperature)
    num_kept = len(ids)
    if params.top_p < 1:
        reach = params.top_p * (float(weights.sum()) if total is None else total)
        before = weights.cumsum() - weights
        num_kept = int(np.searchsorted(before, reach, side="left"))
    if params.min_p > 0:
        num_kept = min(num_kept, int(np.count_nonzero(weights >= params.min_p)))
    if num_kept == len(ids) and not is_whole:
        return None
    num_kept = max(num_kept, 1)
    return Candidates(ids[:num_kept], weights[:num_kept])


def _typical(logits: Row, best: float, params: SamplingParams) -> Row:
    """The tokens whose surprise is nearest to the expected one, up to ``typical_p`` together."""
    weights = _weights(logits, best, params.temperature)
    probabilities = weights / weights.sum()
    surprise = -np.log(probabilities, where=probabilities > 0, out=np.full(len(logits), np.inf))
    finite = probabilities > 0
    entropy = float(probabilities[finite] @ surprise[finite])
    order = np.argsort(np.abs(surprise - entropy), kind="stable")
    reached = probabilities[order].cumsum()
    num_kept = int(np.searchsorted(reached, params.typical_p, side="left")) + 1
    kept = np.full_like(logits, -np.inf)
    kept[order[:num_kept]] = logits[order[:num_kept]]
    return kept


def _total_weight(logits: Row, best: float, temperature: float) -> float:
    scratch = logits - np.float32(best)
    np.divide(scratch, np.float32(temperature), out=scratch)
    return float(np.exp(scratch, out=scratch).sum())


def _weights(logits: Row, best: float, temperature: float) -> npt.NDArray[np.float64]:
    """Probability of each token relative to the likeliest; float64."""
    weights: npt.NDArray[np.float64] = np.exp(
        (logits - np.float32(best)) / np.float32(temperature)
    ).astype(np.float64)
    return weights
