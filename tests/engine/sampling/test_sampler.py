"""Choices of a batch: greedy, seeded, penalised, and as often as they are likely."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pytest
import torch

from engine.api import SamplingParams
from engine.errors import EngineError
from engine.sampling.constraint import TokenConstraint
from engine.sampling.sampler import Sampler
from engine.sampling.steps import distribution

GREEDY = SamplingParams(temperature=0)


@dataclass(frozen=True)
class Row:
    params: SamplingParams
    seed: int = 0
    sample_index: int = 0
    known_ids: Sequence[int] = field(default_factory=list)
    constraint: TokenConstraint | None = None


def _logits(rows: int, vocab: int = 100, seed: int = 3) -> torch.Tensor:
    return torch.randn(rows, vocab, generator=torch.Generator().manual_seed(seed)) * 2


def test_greedy_is_the_argmax() -> None:
    logits = _logits(4)
    chosen = Sampler().sample(logits, [Row(GREEDY)] * 4)
    assert chosen == logits.argmax(-1).tolist()


def test_a_draw_does_not_depend_on_its_batch() -> None:
    logits = _logits(3)
    rows = [Row(SamplingParams(), seed=5, sample_index=2), Row(GREEDY), Row(SamplingParams(), 9)]
    together = Sampler().sample(logits, rows)
    apart = [Sampler().sample(logits[i : i + 1], [rows[i]])[0] for i in range(3)]
    backwards = Sampler().sample(logits.flip(0), rows[::-1])[::-1]
    assert together == apart == backwards


def test_seed_and_index_change_the_draw() -> None:
    logits = _logits(1)
    flat = SamplingParams(temperature=5, top_p=1, min_p=0)
    by_index = {Sampler().sample(logits, [Row(flat, 1, index)])[0] for index in range(30)}
    by_seed = {Sampler().sample(logits, [Row(flat, seed)])[0] for seed in range(30)}
    assert len(by_index) > 10
    assert len(by_seed) > 10


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(temperature=1, top_p=1, min_p=0),
        SamplingParams(temperature=0.8, top_k=6, top_p=0.9, min_p=0.02),
        SamplingParams(temperature=1.5, top_p=0.7, min_p=0),
        SamplingParams(temperature=1, top_p=1, min_p=0, typical_p=0.6),
    ],
)
def test_tokens_come_as_often_as_they_are_likely(params: SamplingParams) -> None:
    logits = _logits(1, vocab=12)
    num_draws = 20_000
    rows = [Row(params, seed=11, sample_index=index) for index in range(num_draws)]
    chosen = torch.tensor(Sampler().sample(logits.expand(num_draws, -1), rows))
    counts = torch.bincount(chosen, minlength=12).double()
    expected = distribution(logits, params)[0] * num_draws
    assert counts[expected == 0].sum() == 0
    kept = expected > 0
    chi_square = float(((counts - expected)[kept] ** 2 / expected[kept]).sum())
    assert chi_square < 40  # at most 11 degrees of freedom: p < 0.0001


@pytest.mark.parametrize("temperature", [1e-300, 1e-46, 1e-38, 1e-6])
def test_a_temperature_next_to_zero_is_greedy(temperature: float) -> None:
    logits = _logits(1)
    params = SamplingParams(temperature=temperature, top_p=1, min_p=0)
    chosen = [Sampler().sample(logits, [Row(params, seed)])[0] for seed in range(5)]
    assert chosen == [int(logits.argmax())] * 5


def test_penalty_turns_the_argmax_away_and_looks_back_one_window() -> None:
    logits = torch.tensor([[4.0, 3.0, -1.0]])
    params = SamplingParams(temperature=0, repetition_penalty=2, repetition_window=2)
    assert Sampler().sample(logits, [Row(params, known_ids=[2, 0])]) == [1]
    assert Sampler().sample(logits, [Row(params, known_ids=[0, 2, 2])]) == [0]
    assert logits.tolist() == [[4.0, 3.0, -1.0]]


def test_a_window_of_zero_penalises_nothing() -> None:
    logits = torch.tensor([[4.0, 3.0]])
    params = SamplingParams(temperature=0, repetition_penalty=9, repetition_window=0)
    assert Sampler().sample(logits, [Row(params, known_ids=[0])]) == [0]


@pytest.mark.parametrize("params", [GREEDY, SamplingParams()])
def test_no_number_is_a_failure_with_a_sentence(params: SamplingParams) -> None:
    logits = torch.full((1, 9), float("nan"))
    with pytest.raises(EngineError, match="not a number"):
        Sampler().sample(logits, [Row(params)])


@pytest.mark.parametrize("params", [GREEDY, SamplingParams(), SamplingParams(top_k=3)])
@pytest.mark.parametrize("vocab", [5, 4_097, 4_159])
@pytest.mark.parametrize("place", [0, -1])
def test_one_that_is_no_number_is_enough(params: SamplingParams, vocab: int, place: int) -> None:
    logits = _logits(2, vocab)
    assert len(Sampler().sample(logits, [Row(params)] * 2)) == 2
    logits[1, place] = float("nan")
    with pytest.raises(EngineError, match="not a number"):
        Sampler().sample(logits, [Row(params)] * 2)


def test_presence_and_frequency_look_at_the_answer_alone() -> None:
    logits = torch.tensor([[4.0, 3.0, 2.5]])
    known = [0, 0, 1, 1]
    once = SamplingParams(temperature=0, presence_penalty=1.2)
    assert Sampler().sample(logits, [Row(once, known_ids=known)]) == [0]
    assert Sampler().sample(logits, [Row(once, sample_index=4, known_ids=known)]) == [0]
    each = SamplingParams(temperature=0, frequency_penalty=0.9)
    assert Sampler().sample(logits, [Row(each, sample_index=4, known_ids=known)]) == [2]
    assert Sampler().sample(logits, [Row(each, sample_index=2, known_ids=known)]) == [0]


def test_a_bias_moves_the_choice_and_passes_over_tokens_that_are_not_there() -> None:
    logits = torch.tensor([[4.0, 3.0]])
    params = SamplingParams(temperature=0, logit_bias=((1, 2.0), (7, 5.0)))
    assert Sampler().sample(logits, [Row(params)]) == [1]


class Only:
    """Lets one token through."""

    def __init__(self, token: int, size: int) -> None:
        self.mask = np.zeros(size, dtype=bool)
        self.mask[token] = True
        self.asked: list[list[int]] = []

    def allowed(self, output_ids: Sequence[int]) -> npt.NDArray[np.bool_]:
        self.asked.append(list(output_ids))
        return self.mask


@pytest.mark.parametrize("params", [GREEDY, SamplingParams(), SamplingParams(typical_p=0.5)])
def test_a_constraint_binds_the_choice_and_knows_the_answer_so_far(params: SamplingParams) -> None:
    constraint = Only(3, 80)  # fewer tokens than the head has rows
    row = Row(params, sample_index=2, known_ids=[9, 5, 6], constraint=constraint)
    logits = _logits(1)
    before = logits.clone()
    assert Sampler().sample(logits, [row]) == [3]
    assert constraint.asked == [[5, 6]]
    assert torch.equal(logits, before)


def test_of_equally_likely_tokens_the_first_is_taken_in_every_batch() -> None:
    logits = torch.zeros(2, 40_000)
    logits[:, 31_000:] = 1.0
    alone = Sampler().sample(logits[:1], [Row(GREEDY)])
    beside = Sampler().sample(logits, [Row(GREEDY), Row(GREEDY)])
    mixed = Sampler().sample(logits, [Row(GREEDY), Row(SamplingParams())])
    assert alone[0] == beside[0] == beside[1] == mixed[0] == 31_000
