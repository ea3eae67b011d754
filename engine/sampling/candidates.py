"""The few tokens a sampled draw can choose from, found without sorting the vocabulary.

NumPy on one row of host memory: its single-threaded passes cost less here than waking the
matrix threads up. After a step of the model nothing is left in the processor's caches, so that
each function called for the first time costs more than it computes: min-p, which the app begins
with, needs one comparison with the likeliest token, and most often nothing else. Where top-k or
top-p decide, the maxima of groups of tokens tell which of these hold the wanted ones; the weights
of all are only added up where top-p depends on them. Agrees with ``engine.sampling.steps``.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.api import SamplingParams

Row = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

_GROUP = 64
_FEW_TOKENS = 4_096  # of so many each is its own group
_FEW_GROUPS = 8  # where one in so many holds a wanted token, only these are looked at
# Tokens wanted: the widest cut that is still far cheaper than a sort.
_WANTED, _WANTED_OF_TOP_K = 256, 64
# A wider cut for flat distributions, before everything is sorted: tokens wanted, and their group.
_WIDE_WANTED, _WIDE_GROUP = 2_048, 8
# What sums and bounds of float32 weights may be off by, and more.
_ROUNDING = 1e-5


_CERTAIN = np.ones(1)  # the weight of one that is alone
_CERTAIN.flags.writeable = False


@dataclass(slots=True)
class Candidates:
    """Kept tokens, likeliest first: ``ids`` int64 [n], ``weights`` float64 [n], not normalised."""

    ids: Ids
    weights: npt.NDArray[np.float64]

    def choose(self, uniform: float) -> int:
        """The token at quantile ``uniform`` of [0, 1), by inverse cumulative distribution."""
        cumulative = self.weights.cumsum()
        place = int(cumulative.searchsorted(uniform * cumulative[-1], side="right"))
        return int(self.ids[min(place, len(self.ids) - 1)])


class Peaks:
    """The largest of each group of logits, float32 [V].

    ::

        logits   [0 ..... n)[n ..... 2n) ... [(group - 1) n ..... group n) [rest, fewer than group]
        maxima   [0 ..... n)      the largest of all i, n + i, 2n + i, ...
    """

    __slots__ = ("_group", "_logits", "_maxima", "_rest")

    def __init__(self, logits: Row, group: int = _GROUP) -> None:
        self._group = group = group if len(logits) > _FEW_TOKENS else 1
        self._logits = logits
        num_groups = len(logits) // group
        self._rest = num_groups * group
        self._maxima = np.maximum.reduce(logits[: self._rest].reshape(group, num_groups), axis=0)

    def largest(self, wanted: int) -> Ids | None:
        """All tokens above a bound that at least ``wanted`` reach; None if groups are too few.

        The bound is the ``wanted``-th largest maximum: that many groups hold a token that reaches
        it.
        """
        num_groups = len(self._maxima)
        if num_groups <= wanted:
            return None
        return self.above(np.partition(self._maxima, num_groups - wanted)[num_groups - wanted])

    def above(self, bound: np.float32) -> Ids:
        """The tokens that reach ``bound``, in the order of their ids."""
        groups: Ids = (self._maxima >= bound).nonzero()[0]
        if self._group == 1:
            return groups
        num_groups = len(self._maxima)
        if len(groups) * _FEW_GROUPS > num_groups:
            found: Ids = (self._logits >= bound).nonzero()[0]
            return found
        grid = self._logits[: self._rest].reshape(self._group, num_groups)
        rows, columns = (grid.take(groups, axis=1) >= bound).nonzero()
        ids: Ids = rows * num_groups + groups[columns]
        if self._rest == len(self._logits):
            return ids
        rest = (self._logits[self._rest :] >= bound).nonzero()[0]
        return np.concatenate((ids, rest + self._rest))

    def weight_below(self, bound: np.float32, best: float, temperature: float) -> float:
        """What tokens that do not reach ``bound`` weigh at least: the largest of each group."""
        return float(_weights(self._maxima[self._maxima < bound], best, temperature).sum())


def find_candidates(
    logits: Row, params: SamplingParams, best: float | None = None, scratch: Row | None = None
) -> Candidates:
    """What the filters leave of ``logits`` (float32 [V]) at the given temperature.

    In this order: typical, top-k, top-p, min-p. ``best``: the largest of the logits, where known;
    ``scratch``, float32 [V], is written to when all weights are added up.
    """
    if best is None:
        best = float(logits.max())
    if params.typical_p < 1:
        logits = _typical(logits, best, params)
        best = float(logits.max())
    if not params.top_k and params.top_p >= 1 and params.min_p <= 0:
        left = np.flatnonzero(logits > -np.inf)
        return Candidates(left, _weights(logits[left], best, params.temperature))
    is_by_min_p = params.min_p > 0 and not (params.top_k and params.top_p < 1)
    if is_by_min_p and (found := _above_min_p(logits, params, best, scratch)) is not None:
        return found
    total = None
    if not params.top_k and params.top_p < 1:
        total = _total_weight(logits, best, params.temperature, scratch)
    ids = Peaks(logits).largest(max(_WANTED_OF_TOP_K, params.top_k) if params.top_k else _WANTED)
    found = None if ids is None else _filter(logits, ids, params, best, total)
    if found is None:
        ids = Peaks(logits, _WIDE_GROUP).largest(max(_WIDE_WANTED, params.top_k))
        found = None if ids is None else _filter(logits, ids, params, best, total)
    if found is None:
        found = _filter(logits, np.arange(len(logits)), params, best, total)
    assert found is not None, "the whole vocabulary decides every filter"
    return found


def _above_min_p(
    logits: Row, params: SamplingParams, best: float, scratch: Row | None
) -> Candidates | None:
    """What min-p, with top-k or with top-p, leaves; None where min-p keeps too many to sort.

    Top-p takes none of them away where those before the last do not even reach its part of what
    some tokens weigh: so the weights of all are added up only where it does, or nearly.
    """
    lowest = best + params.temperature * (math.log(params.min_p) - _ROUNDING)
    bound = np.float32(lowest - abs(best) * _ROUNDING)
    ids = (logits >= bound).nonzero()[0]
    if len(ids) == 1:
        return Candidates(ids, _CERTAIN)
    if len(ids) > _WIDE_WANTED:
        return None
    values = logits[ids]
    order = (-values).argsort(kind="stable")[: params.top_k or None]
    ids = ids[order]
    weights = _weights(values[order], best, params.temperature)
    num_kept = max(1, int(np.count_nonzero(weights >= params.min_p)))
    if params.top_p < 1:
        cumulative = weights.cumsum()
        before = cumulative - weights
        least = float(before[num_kept - 1]) / (params.top_p * (1 - _ROUNDING))
        known = float(cumulative[-1])
        if known <= least:
            known += Peaks(logits).weight_below(bound, best, params.temperature)
        if known <= least:
            reach = params.top_p * _total_weight(logits, best, params.temperature, scratch)
            num_kept = max(1, min(num_kept, int(before.searchsorted(reach, side="left"))))
    return Candidates(ids[:num_kept], weights[:num_kept])


def _filter(
    logits: Row,
    ids: Ids,
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


def _total_weight(logits: Row, best: float, temperature: float, scratch: Row | None) -> float:
    """What the probabilities of all tokens, relative to the likeliest, add up to."""
    weights = np.subtract(logits, np.float32(best), out=scratch)
    np.divide(weights, np.float32(temperature), out=weights)
    return float(np.exp(weights, out=weights).sum())


def _weights(logits: Row, best: float, temperature: float) -> npt.NDArray[np.float64]:
    """Probability of each token relative to the likeliest; float64."""
    weights: npt.NDArray[np.float64] = np.exp(
        (logits - np.float32(best)) / np.float32(temperature)
    ).astype(np.float64)
    return weights
