"""The decoder of DeepSeek-V4 through steps that are given up, taken back, and kept in few bits."""

from contextlib import closing

import pytest
import torch

from engine.api import Precision
from engine.kv.compressed_geometry import EntryForm
from engine.model.architectures.deepseek_v4.decoder import V4Decoder
from engine.model.architectures.deepseek_v4.source import V4Source
from engine.model.batch import ForwardInterruptedError
from engine.runner import build_batch
from engine.scheduling.plan import StepPlan
from tests.helpers.decoding import (
    CPU,
    CachedSequence,
    all_logits,
    forward,
    ignore_progress,
    make_storage,
    never,
)
from tests.helpers.v4_models import SHORT, compressed_storage, write_v4_folder

BLOCKS = (3, 1, 4, 0, 2)


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    folder = write_v4_folder(tmp_path_factory.mktemp("v4"), **SHORT)
    with closing(V4Source.open(folder)) as source:
        return V4Decoder.build(source, Precision.FP32, torch.float32, CPU, ignore_progress, never)


def tokens(count):
    generator = torch.Generator().manual_seed(7)
    return torch.randint(0, 264, (count,), generator=generator).tolist()


def in_one_go(decoder, ids):
    return all_logits(
        decoder, compressed_storage(decoder.config, 5), CachedSequence(BLOCKS), ids, (len(ids),)
    )


def after(number):
    """Interrupts at the ``number``-th question."""
    asked = iter(range(number))
    return lambda: next(asked, None) is None


@pytest.mark.parametrize("layer", [0, 1, 2, 4])
@pytest.mark.parametrize("length", [1, 3, 25])
def test_a_step_given_up_never_happened(decoder, layer, length):
    ids = tokens(60)
    storage = compressed_storage(decoder.config, 5)
    request = CachedSequence(BLOCKS)
    first = all_logits(decoder, storage, request, ids[:30], (29, 1))
    plan = StepPlan((request.chunk(ids[30 : 30 + length], 1),))
    batch = build_batch(plan, storage.geometry.block_size, CPU)
    for _ in range(2):
        with pytest.raises(ForwardInterruptedError):
            decoder.forward(batch, storage, after(layer))
    # and it is repeated in another cut
    request.computed = 30
    rest = all_logits(decoder, storage, request, ids[30:], (2, 28))
    torch.testing.assert_close(torch.cat((first, rest)), in_one_go(decoder, ids))


@pytest.mark.parametrize("kept", [0, 1, 4, 6])
def test_refused_drafts_leave_no_trace(decoder, kept):
    ids, wrong = tokens(60), [5] * 6
    storage = compressed_storage(decoder.config, 5)
    request = CachedSequence(BLOCKS)
    first = all_logits(decoder, storage, request, ids[:30], (30,))
    drafts = ids[30 : 30 + kept] + wrong[kept:]
    forward(decoder, storage, request.chunk(drafts, 6))
    request.computed = 30 + kept
    rest = all_logits(decoder, storage, request, ids[30 + kept :], (1, 29 - kept))
    expected = in_one_go(decoder, ids)
    torch.testing.assert_close(first, expected[:30])
    torch.testing.assert_close(rest, expected[30 + kept :])


def test_a_step_after_a_failing_sampler_is_repeated(decoder):
    ids = tokens(40)
    storage = compressed_storage(decoder.config, 5)
    request = CachedSequence(BLOCKS)
    all_logits(decoder, storage, request, ids[:33], (33,))
    once = forward(decoder, storage, request.chunk(ids[33:34], 1))
    request.computed -= 1
    twice = forward(decoder, storage, request.chunk(ids[33:34], 1))
    assert torch.equal(once, twice)
    torch.testing.assert_close(twice, in_one_go(decoder, ids)[33:34])


def test_a_chunk_without_logits(decoder):
    storage = compressed_storage(decoder.config, 5)
    out = forward(decoder, storage, CachedSequence(BLOCKS).chunk(tokens(20), 0))
    assert out.shape == (0, 264)


def test_nothing_is_allocated_as_a_context_grows(decoder):
    storage = compressed_storage(decoder.config, 5)
    request = CachedSequence(BLOCKS)
    all_logits(decoder, storage, request, tokens(20), (20,))
    before = storage.nbytes
    all_logits(decoder, storage, request, tokens(60), (59, 1))
    assert storage.nbytes == before
    assert storage.staged_bytes < storage.state_bytes


@pytest.mark.parametrize(
    ("form", "limit"),
    [
        (EntryForm.BF16, 1e-3),
        (EntryForm.FP8, 0.02),
        (EntryForm.INT8, 5e-3),
        (EntryForm.INT4, 0.1),
    ],
    ids=str,
)
def test_entries_in_few_bits_change_little(decoder, form, limit):
    """Mean divergence of the next token, nats: weights are random, text would differ."""
    ids = tokens(75)
    storage = compressed_storage(decoder.config, 5, form)
    ours = all_logits(decoder, storage, CachedSequence(BLOCKS), ids, (50, *(1,) * 25))
    exact, logs = in_one_go(decoder, ids).log_softmax(-1), ours.log_softmax(-1)
    divergence = (exact.exp() * (exact - logs)).sum(-1).mean()
    assert 0 <= divergence < limit


def test_another_cache_is_refused(decoder):
    with pytest.raises(TypeError, match="compressed cache"):
        forward(
            decoder,
            make_storage(decoder.config.base, 4, 16),
            CachedSequence((0,)).chunk([1], 1),
        )


def test_what_the_model_sheet_says(decoder):
    assert decoder.kernels[0] == "inputs: FP32 product"
    assert decoder.weights_bytes > 0
