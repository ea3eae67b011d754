"""From a plan to tensors and back, with a decoder that shows what it was given."""

from collections.abc import Callable, Sequence

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


def test_tokens_go_to_the_requests_that_asked() -> None:
    output = _runner().run(PLAN, lambda: False)
    assert output.sampled == {"decode": 8, "last chunk": 11}
    assert 0 < output.forward_end_ns <= output.sampled_ns


def test_a_step_without_logits_chooses_nothing() -> None:
    output = _runner().run(StepPlan(PLAN.chunks[:1]), lambda: False)
    assert output.sampled == {}


def test_an_interruption_reaches_the_caller() -> None:
    with pytest.raises(ForwardInterruptedError):
        _runner().run(PLAN, lambda: True)
