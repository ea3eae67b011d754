"""From a plan to tensors and back, with a decoder that shows what it was given."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.api import SamplingParams
from engine.config import KVFormat, KVGeometry
from engine.kv.storage import PagedStorage
from engine.model.batch import ForwardBatch, ForwardInterruptedError, Segment
from engine.runner import Runner, build_batch
from engine.sampling.sampler import Sampler
from engine.scheduling.plan import ScheduledChunk, StepPlan

CPU = torch.device("cpu")
VOCAB = 16


def _chunk(
    request_id: str, token_ids: Sequence[int], start: int, blocks: Sequence[int], num_logits: int
) -> ScheduledChunk:
    return ScheduledChunk(
        request_id=request_id,
        token_ids=tuple(token_ids),
        start=start,
        block_ids=tuple(blocks),
        num_logits=num_logits,
        params=SamplingParams(temperature=0.0),
        seed=0,
        sample_index=0,
        known_ids=[],
    )


class _EchoDecoder:
    """Prefers, at each row, the token after the one it was given."""

    weights_bytes = 0

    def forward(
        self, batch: ForwardBatch, storage: PagedStorage, interrupted: Callable[[], bool]
    ) -> torch.Tensor:
        del storage
        if interrupted():
            raise ForwardInterruptedError
        chosen = (batch.token_ids[batch.logit_rows] + 1) % VOCAB
        return torch.nn.functional.one_hot(chosen, VOCAB).float()


def _runner() -> Runner:
    geometry = KVGeometry(1, 1, 2, block_size=4, num_blocks=8, format=KVFormat.FLOAT32)
    return Runner(_EchoDecoder(), PagedStorage(geometry, CPU), Sampler())


PLAN = StepPlan(
    (
        _chunk("prefill", (1, 2, 3), start=3, blocks=(5, 2), num_logits=0),
        _chunk("decode", (7,), start=8, blocks=(0, 1, 7), num_logits=1),
        _chunk("last chunk", (9, 10), start=0, blocks=(3,), num_logits=1),
    )
)


def test_a_plan_is_laid_end_to_end() -> None:
    batch = build_batch(PLAN, 4, CPU)
    assert batch.token_ids.tolist() == [1, 2, 3, 7, 9, 10]
    assert batch.positions.tolist() == [3, 4, 5, 8, 0, 1]
    assert batch.slots.tolist() == [5 * 4 + 3, 2 * 4, 2 * 4 + 1, 7 * 4, 3 * 4, 3 * 4 + 1]
    assert batch.logit_rows.tolist() == [3, 5]
    assert batch.segments == (
        Segment(0, 3, 3, (5, 2)),
        Segment(3, 1, 8, (0, 1, 7)),
        Segment(4, 2, 0, (3,)),
    )


class _PackedNumbers:
    """A tensor that says how it goes to a card which is not there."""

    def __init__(self, whole: np.ndarray) -> None:
        self.whole = torch.tensor(whole)
        self.is_pinned = False

    def pin_memory(self) -> "_PackedNumbers":
        self.is_pinned = True
        return self

    def to(self, device: torch.device, *, non_blocking: bool) -> torch.Tensor:
        assert device.type == "cuda"
        assert self.is_pinned
        assert non_blocking
        return self.whole


def test_a_step_goes_to_a_card_in_one_copy_that_nobody_waits_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = build_batch(PLAN, 4, CPU)
    copies: list[_PackedNumbers] = []

    def packed(whole: np.ndarray) -> _PackedNumbers:
        copies.append(_PackedNumbers(whole))
        return copies[-1]

    monkeypatch.setattr(torch, "from_numpy", packed)
    batch = build_batch(PLAN, 4, torch.device("cuda"))
    assert len(copies) == 1
    for name in ("token_ids", "positions", "slots", "logit_rows"):
        assert torch.equal(getattr(batch, name), getattr(expected, name))


def test_a_device_gets_the_same_tensors() -> None:
    batch, sent = (build_batch(PLAN, 4, torch.device(name)) for name in ("cpu", "meta"))
    for name in ("token_ids", "positions", "slots", "logit_rows"):
        here, there = getattr(batch, name), getattr(sent, name)
        assert there.device.type == "meta"
        assert (here.shape, here.dtype) == (there.shape, there.dtype)


def test_tokens_go_to_the_requests_that_asked() -> None:
    output = _runner().run(PLAN, lambda: False)
    assert output.sampled == {"decode": (8,), "last chunk": (11,)}
    assert 0 < output.start_ns <= output.forward_end_ns <= output.sampled_ns


def test_a_step_without_logits_chooses_nothing() -> None:
    output = _runner().run(StepPlan(PLAN.chunks[:1]), lambda: False)
    assert output.sampled == {}


def test_an_interruption_reaches_the_caller() -> None:
    with pytest.raises(ForwardInterruptedError):
        _runner().run(PLAN, lambda: True)


def _verifying(guesses: Sequence[int], known: Sequence[int] = (7,)) -> ScheduledChunk:
    chunk = _chunk("a", (*known, *guesses), start=0, blocks=(0, 1), num_logits=1 + len(guesses))
    return replace(chunk, num_drafts=len(guesses), known_ids=list(known))


@pytest.mark.parametrize(
    ("guesses", "expected"),
    [((8, 9), (8, 9, 10)), ((8, 5), (8, 9)), ((3, 9), (8,)), ((), (8,))],
)
def test_choices_count_up_to_the_first_wrong_guess(
    guesses: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    output = _runner().run(StepPlan((_verifying(guesses),)), lambda: False)
    assert output.sampled == {"a": expected}


class _FlatDecoder(_EchoDecoder):
    """The same distribution after every token."""

    def forward(
        self, batch: ForwardBatch, storage: PagedStorage, interrupted: Callable[[], bool]
    ) -> torch.Tensor:
        del storage, interrupted
        return torch.tensor(PROBABILITIES).log().repeat(len(batch.logit_rows), 1)


PROBABILITIES = [0.4, 0.25, 0.2, 0.1, 0.05]
SAMPLED = SamplingParams(temperature=1.0, top_p=1.0, min_p=0.0)


@pytest.mark.parametrize("guess", range(5))
def test_guessing_leaves_the_distribution_of_answers_as_it_is(guess: int) -> None:
    """Tokens after a guess that is right with its own probability; chi-square, 4 degrees."""
    runner = Runner(_FlatDecoder(), _runner()._storage, Sampler())
    counts = [0] * 5
    num_accepted = 0
    for seed in range(4_000):
        chunk = replace(_verifying((guess,)), params=SAMPLED, seed=seed)
        tokens = runner.run(StepPlan((chunk,)), lambda: False).sampled["a"]
        counts[tokens[0]] += 1
        num_accepted += len(tokens) - 1
        assert (tokens[0] == guess) == (len(tokens) == 2)
    expected = [p * 4_000 for p in PROBABILITIES]
    assert sum((c - e) ** 2 / e for c, e in zip(counts, expected, strict=True)) < 23.5  # p < 1e-4
    assert num_accepted == counts[guess]


def test_a_guess_is_judged_by_the_draw_that_would_have_been() -> None:
    runner = Runner(_FlatDecoder(), _runner()._storage, Sampler())
    for seed in range(300):
        alone = []
        for index in range(4):
            chunk = replace(
                _verifying(()), params=SAMPLED, seed=seed, sample_index=index, known_ids=[7]
            )
            alone += runner.run(StepPlan((chunk,)), lambda: False).sampled["a"]
        chunk = replace(_verifying(alone[:3]), params=SAMPLED, seed=seed)
        assert runner.run(StepPlan((chunk,)), lambda: False).sampled["a"] == tuple(alone)
