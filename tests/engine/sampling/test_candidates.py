"""The fast cut keeps exactly what the whole-vocabulary steps keep."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.api import SamplingParams
from engine.sampling.candidates import _filter, find_candidates
from engine.sampling.steps import distribution


def _row(vocab: int, spread: float, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return (generator.standard_normal(vocab) * spread).astype(np.float32)


def _check(logits: np.ndarray, params: SamplingParams) -> None:
    expected = distribution(torch.from_numpy(logits)[None], params)[0].numpy()
    found = find_candidates(logits, params)
    probabilities = np.zeros(len(logits))
    probabilities[found.ids] = found.weights / found.weights.sum()
    # at the edge of top-p and min-p the two may differ by a rounding: one token of tiny weight
    assert abs(len(found.ids) - np.count_nonzero(expected)) <= 1 + len(found.ids) // 500
    assert np.abs(probabilities - expected).max() < 1e-4 + params.min_p * 1e-2
    if params.top_k and params.top_p >= 1 and not params.min_p:
        assert set(found.ids) == set(np.flatnonzero(expected))


@pytest.mark.parametrize("vocab", [1, 2, 50, 4_099, 49_152])
@pytest.mark.parametrize("spread", [0.01, 1.0, 4.0])
@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(),
        SamplingParams(temperature=1, top_p=1, min_p=0),
        SamplingParams(temperature=1, top_p=0.999, min_p=0),
        SamplingParams(temperature=0.3, top_k=40, top_p=1, min_p=0),
        SamplingParams(temperature=1, top_k=1000, top_p=0.9, min_p=0.01),
        SamplingParams(temperature=2, top_p=1, min_p=0.001),
        SamplingParams(temperature=1, top_k=10**6, top_p=0.5, min_p=0),
        SamplingParams(temperature=1, top_p=1, min_p=0, typical_p=0.3),
        SamplingParams(temperature=0.8, top_k=50, top_p=0.95, min_p=0.01, typical_p=0.9),
    ],
    ids=lambda p: f"T{p.temperature}-k{p.top_k}-p{p.top_p}-m{p.min_p}-t{p.typical_p}",
)
def test_fast_equals_slow(vocab: int, spread: float, params: SamplingParams) -> None:
    _check(_row(vocab, spread, seed=vocab), params)


def _whole(logits: np.ndarray, params: SamplingParams) -> tuple[list[int], list[float]]:
    """By sorting the whole vocabulary, in the numbers of the fast way."""
    best = float(logits.max())
    scaled = (logits - np.float32(best)) / np.float32(params.temperature)
    total = None if params.top_k else float(np.exp(scaled).sum())
    found = _filter(logits, np.arange(len(logits)), params, best, total)
    assert found is not None
    return found.ids.tolist(), found.weights.tolist()


FILTERS = st.builds(
    SamplingParams,
    temperature=st.sampled_from([1e-5, 0.1, 0.7, 1.0, 1.7, 50.0]),
    top_k=st.sampled_from([0, 0, 1, 40, 300, 10_000]),
    top_p=st.sampled_from([0.001, 0.3, 0.9, 0.99, 1.0]),
    min_p=st.sampled_from([0.0, 1e-6, 0.02, 0.05, 0.5, 1.0]),
).filter(lambda params: params.top_k or params.top_p < 1 or params.min_p)
SPREADS = st.sampled_from([0.001, 0.5, 2.0, 6.0, 30.0])


@given(
    vocab=st.sampled_from([1, 63, 4_096, 4_097, 9_001, 49_152, 49_159]),
    spread=SPREADS,
    shift=st.sampled_from([0.0, -300.0, 40.0]),
    seed=st.integers(0, 2**32 - 1),
    params=FILTERS,
)
def test_no_cut_changes_what_is_kept(
    vocab: int, spread: float, shift: float, seed: int, params: SamplingParams
) -> None:
    logits = _row(vocab, spread, seed) + np.float32(shift)
    found = find_candidates(logits, params, float(logits.max()), np.empty_like(logits))
    assert (found.ids.tolist(), found.weights.tolist()) == _whole(logits, params)


@given(levels=st.sampled_from([1, 3, 50]), seed=st.integers(0, 2**32 - 1), params=FILTERS)
def test_nor_among_ties(levels: int, seed: int, params: SamplingParams) -> None:
    logits = np.round(_row(9_001, levels, seed)).astype(np.float32)
    found = find_candidates(logits, params)
    assert (found.ids.tolist(), found.weights.tolist()) == _whole(logits, params)


def test_tokens_that_are_ruled_out_are_never_kept() -> None:
    logits = np.full(9_001, -np.inf, dtype=np.float32)
    logits[[17, 8_999, 9_000]] = 1.0
    for params in (
        SamplingParams(),
        SamplingParams(top_k=40),
        SamplingParams(min_p=0),
        SamplingParams(min_p=0, top_k=40, top_p=1),
        SamplingParams(min_p=0, top_p=1),
    ):
        weighty = find_candidates(logits, params)
        assert weighty.ids[weighty.weights > 0].tolist() == [17, 8_999, 9_000]


@given(
    values=st.lists(st.integers(-8, 8), min_size=1, max_size=40),
    temperature=st.sampled_from([0.2, 0.7, 1.0, 3.0]),
    top_k=st.integers(0, 12),
)
def test_ties_are_broken_by_the_smaller_id(
    values: list[int], temperature: float, top_k: int
) -> None:
    logits = np.asarray(values, dtype=np.float32)
    params = SamplingParams(temperature=temperature, top_k=top_k, top_p=1, min_p=0)
    expected = distribution(torch.from_numpy(logits)[None], params)[0].numpy()
    found = find_candidates(logits, params)
    assert sorted(found.ids) == list(np.flatnonzero(expected))


def test_something_always_remains() -> None:
    logits = np.zeros(1000, dtype=np.float32)
    logits[7] = 90
    found = find_candidates(logits, SamplingParams(temperature=0.01, top_p=0.001, min_p=1))
    assert found.ids.tolist() == [7]


def test_quantiles_walk_through_the_candidates() -> None:
    logits = np.log(np.asarray([0.1, 0.2, 0.3, 0.4], dtype=np.float32))
    found = find_candidates(logits, SamplingParams(temperature=1, top_k=4, top_p=1, min_p=0))
    assert [found.choose(u) for u in (0.0, 0.39, 0.41, 0.69, 0.71, 0.89, 0.91, 1 - 2**-53)] == [
        3, 3, 2, 2, 1, 1, 0, 0,
    ]  # fmt: skip
