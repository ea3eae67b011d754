"""Each step against a loop over Python floats, and their order."""

import math

import pytest
import torch

from engine.api import SamplingParams
from engine.sampling.steps import (
    distribution,
    keep_min_p,
    keep_top_k,
    keep_top_p,
    keep_typical,
    penalise_presence,
    penalise_repetition,
    scale_by_temperature,
)


def _logits(rows: int = 3, vocab: int = 17) -> torch.Tensor:
    return torch.randn(rows, vocab, generator=torch.Generator().manual_seed(5)) * 3


def _softmax(row: list[float]) -> list[float]:
    best = max(row)
    weights = [math.exp(value - best) for value in row]
    return [weight / math.fsum(weights) for weight in weights]


def _kept(logits: torch.Tensor) -> list[set[int]]:
    return [{i for i, v in enumerate(row) if v > -math.inf} for row in logits.tolist()]


def test_penalty_divides_positive_and_multiplies_negative() -> None:
    logits = torch.tensor([[2.0, -2.0, 3.0, 0.0]])
    result = penalise_repetition(logits, [[0, 1, 1, 3]], 2.0)
    assert result.tolist() == [[1.0, -4.0, 3.0, 0.0]]
    assert logits.tolist() == [[2.0, -2.0, 3.0, 0.0]]


def test_temperature_divides() -> None:
    logits = _logits()
    assert torch.equal(scale_by_temperature(logits, 0.5), logits * 2)


@pytest.mark.parametrize("top_k", [0, 1, 5, 17, 99])
def test_top_k(top_k: int) -> None:
    logits = _logits()
    expected = [
        set(sorted(range(17), key=lambda i: -row[i])[: top_k or None]) for row in logits.tolist()
    ]
    assert _kept(keep_top_k(logits, top_k)) == expected


def test_top_k_keeps_the_smaller_id_of_equals() -> None:
    assert _kept(keep_top_k(torch.tensor([[1.0, 2.0, 2.0, 2.0]]), 2)) == [{1, 2}]


@pytest.mark.parametrize("top_p", [0.01, 0.3, 0.9, 0.999, 1.0])
def test_top_p(top_p: float) -> None:
    logits = _logits()
    expected = []
    for row in logits.tolist():
        kept: set[int] = set()
        probabilities = _softmax(row)
        reached = 0.0
        for token in sorted(range(17), key=lambda i: -row[i]):
            if reached >= top_p and top_p < 1:
                break
            kept.add(token)
            reached += probabilities[token]
        expected.append(kept)
    assert _kept(keep_top_p(logits, top_p)) == expected


@pytest.mark.parametrize("min_p", [0.0, 0.02, 0.5, 1.0])
def test_min_p(min_p: float) -> None:
    logits = _logits()
    expected = [
        {i for i, p in enumerate(_softmax(row)) if p >= min_p * max(_softmax(row)) * (1 - 1e-12)}
        for row in logits.tolist()
    ]
    assert _kept(keep_min_p(logits, min_p)) == expected


def test_top_p_sees_what_top_k_left() -> None:
    logits = torch.log(torch.tensor([[0.4, 0.3, 0.2, 0.1]]))
    params = SamplingParams(temperature=1, top_k=2, top_p=0.55, min_p=0)
    # alone, top-p 0.55 keeps two tokens; of 0.4 and 0.3 renormalised the first has 0.57
    assert distribution(logits, params).tolist() == [[1.0, 0.0, 0.0, 0.0]]


def test_temperature_comes_before_the_filters() -> None:
    logits = torch.log(torch.tensor([[0.6, 0.3, 0.1]]))
    warm = SamplingParams(temperature=4, top_p=1, min_p=0.6)
    cold = SamplingParams(temperature=0.5, top_p=1, min_p=0.6)
    assert distribution(logits, warm)[0].count_nonzero() == 3
    assert distribution(logits, cold)[0].count_nonzero() == 1


@pytest.mark.parametrize("typical_p", [0.05, 0.4, 0.9, 1.0])
def test_typical(typical_p: float) -> None:
    logits = _logits()
    expected = []
    for row in logits.tolist():
        probabilities = _softmax(row)
        entropy = -math.fsum(p * math.log(p) for p in probabilities)
        kept: set[int] = set()
        reached = 0.0
        for token in sorted(range(17), key=lambda i: abs(-math.log(probabilities[i]) - entropy)):
            if reached >= typical_p and typical_p < 1:
                break
            kept.add(token)
            reached += probabilities[token]
        expected.append(kept)
    assert _kept(keep_typical(logits, typical_p)) == expected


def test_presence_is_taken_once_and_frequency_each_time() -> None:
    logits = torch.tensor([[2.0, 2.0, 2.0]])
    result = penalise_presence(logits, [[0, 0, 1]], 0.5, 0.25)
    assert result.tolist() == [[1.0, 1.25, 2.0]]
