"""The decoder with itself: whatever the batch and the block table, the same logits."""

from dataclasses import replace

import pytest
import torch

from engine.api import Precision
from engine.config import KVFormat
from engine.errors import LoadCancelledError
from engine.model.batch import ForwardInterruptedError
from engine.model.config import ModelConfig
from engine.model.native import NativeDecoder
from engine.runner import build_batch
from engine.scheduling.plan import StepPlan
from tests.helpers.decoding import (
    CPU,
    CachedSequence,
    all_logits,
    build_native,
    forward,
    ignore_progress,
    make_storage,
    never,
)
from tests.helpers.state_dict_source import StateDictSource, random_state_dict

CONFIG = ModelConfig(
    model_type="llama",
    name="tiny",
    vocab_size=61,
    hidden_size=32,
    intermediate_size=48,
    num_layers=3,
    num_heads=4,
    num_kv_heads=2,
    head_dim=8,
    rms_norm_eps=1e-5,
    rope_theta=10000.0,
    max_position_embeddings=512,
)
NUM_TOKENS = 300
IDS = torch.randint(61, (NUM_TOKENS,), generator=torch.Generator().manual_seed(5)).tolist()
RUN = tuple(range(19))
SCATTERED = tuple(torch.randperm(40, generator=torch.Generator().manual_seed(6)).tolist()[:19])


def _source(config: ModelConfig = CONFIG) -> StateDictSource:
    return StateDictSource(config, random_state_dict(config))


@pytest.fixture(scope="module")
def decoder() -> NativeDecoder:
    return build_native(_source())


@pytest.fixture(scope="module")
def whole(decoder: NativeDecoder) -> torch.Tensor:
    """Logits of every token, in one chunk over adjacent blocks."""
    storage = make_storage(CONFIG, num_blocks=19, block_size=16)
    return all_logits(decoder, storage, CachedSequence(RUN), IDS, [NUM_TOKENS])


@pytest.mark.parametrize("block_ids", [RUN, SCATTERED], ids=["run", "scattered"])
@pytest.mark.parametrize(
    "lengths",
    [(300,), (128, 128, 44), (129, 171), (1, 150, 1, 1, 147), (250, *(1,) * 50)],
    ids=lambda lengths: f"{len(lengths)} chunks of up to {max(lengths)}",
)
def test_chunks_and_pages_make_no_difference(
    decoder: NativeDecoder,
    whole: torch.Tensor,
    block_ids: tuple[int, ...],
    lengths: tuple[int, ...],
) -> None:
    storage = make_storage(CONFIG, num_blocks=40, block_size=16)
    logits = all_logits(decoder, storage, CachedSequence(block_ids), IDS, lengths)
    torch.testing.assert_close(logits, whole, atol=1e-5, rtol=1e-5)


def test_a_batch_computes_what_single_requests_do(decoder: NativeDecoder) -> None:
    """Prefill, a chunk in the middle and two decodes share steps."""
    lengths = [(60, 1, 1), (1, 1, 70), (33, 40, 1), (2, 2, 2)]
    tables = [(0, 1, 2, 3), (9, 5, 11, 4, 30), (12, 13, 14, 15, 16), (31,)]
    prompts = [IDS[7 * i : 7 * i + sum(parts)] for i, parts in enumerate(lengths)]
    storage = make_storage(CONFIG, num_blocks=40, block_size=16)
    together = [CachedSequence(table) for table in tables]
    parts: list[list[torch.Tensor]] = [[], [], [], []]
    for step in range(3):
        chunks = []
        for sequence, prompt, sizes in zip(together, prompts, lengths, strict=True):
            piece = prompt[sequence.computed : sequence.computed + sizes[step]]
            chunks.append(sequence.chunk(piece, len(piece)))
        logits = forward(decoder, storage, *chunks)
        for own, rows in zip(parts, logits.split([s[step] for s in lengths]), strict=True):
            own.append(rows)
    for own, prompt, sizes in zip(parts, prompts, lengths, strict=True):
        alone = make_storage(CONFIG, num_blocks=8, block_size=16)
        expected = all_logits(decoder, alone, CachedSequence(tuple(range(8))), prompt, sizes)
        torch.testing.assert_close(torch.cat(own), expected, atol=1e-5, rtol=1e-5)


def test_logits_only_where_asked(decoder: NativeDecoder, whole: torch.Tensor) -> None:
    storage = make_storage(CONFIG, num_blocks=19, block_size=16)
    sequence = CachedSequence(RUN)
    assert forward(decoder, storage, sequence.chunk(IDS[:40], 0)).shape == (0, 61)
    logits = forward(decoder, storage, sequence.chunk(IDS[40:50], 2))
    torch.testing.assert_close(logits, whole[48:50], atol=1e-5, rtol=1e-5)
    assert logits.dtype == torch.float32


@pytest.mark.parametrize("kept", [KVFormat.BFLOAT16, KVFormat.FLOAT16])
def test_a_narrow_cache_stays_close(
    decoder: NativeDecoder, whole: torch.Tensor, kept: KVFormat
) -> None:
    storage = make_storage(CONFIG, num_blocks=40, block_size=16, kept=kept)
    logits = all_logits(decoder, storage, CachedSequence(SCATTERED), IDS, (200, *(1,) * 100))
    error = (logits.softmax(-1) - whole.softmax(-1)).abs().max()
    assert float(error) < 0.01


def test_bfloat16_computation_stays_close(whole: torch.Tensor) -> None:
    decoder = NativeDecoder.build(
        _source(), Precision.BF16, torch.bfloat16, CPU, ignore_progress, never
    )
    storage = make_storage(CONFIG, num_blocks=40, block_size=16, kept=KVFormat.BFLOAT16)
    logits = all_logits(decoder, storage, CachedSequence(RUN), IDS, (290, *(1,) * 10))
    assert logits.dtype == torch.float32
    error = (logits.softmax(-1) - whole.softmax(-1)).abs().max()
    assert float(error) < 0.05


def test_an_interrupted_chunk_can_be_computed_again(
    decoder: NativeDecoder, whole: torch.Tensor
) -> None:
    storage = make_storage(CONFIG, num_blocks=19, block_size=16)
    chunk = CachedSequence(RUN).chunk(IDS, NUM_TOKENS)
    batch = build_batch(StepPlan((chunk,)), 16, CPU)
    answers = iter([False, True])
    with pytest.raises(ForwardInterruptedError):
        decoder.forward(batch, storage, answers.__next__)
    logits = decoder.forward(batch, storage, never)
    torch.testing.assert_close(logits, whole, atol=1e-5, rtol=1e-5)


def test_reports_progress_and_stops_loading() -> None:
    seen: list[tuple[int, int]] = []

    def watch(done: int, total: int) -> None:
        seen.append((done, total))

    NativeDecoder.build(_source(), Precision.FP32, torch.float32, CPU, watch, never)
    assert seen == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
    with pytest.raises(LoadCancelledError):
        NativeDecoder.build(
            _source(), Precision.FP32, torch.float32, CPU, ignore_progress, lambda: len(seen) > 2
        )


def test_counts_its_bytes() -> None:
    biased = replace(CONFIG, attention_bias=True, mlp_bias=True)
    weights = random_state_dict(biased)
    decoder = build_native(StateDictSource(biased, weights))
    assert decoder.weights_bytes == sum(t.numel() * 4 for t in weights.values())
    assert {line.split(":")[0] for line in decoder.kernels} == {
        "qkv",
        "o",
        "gate_up",
        "down",
        "head",
    }


def test_a_bias_that_only_some_parts_have_is_zero_elsewhere() -> None:
    weights = random_state_dict(replace(CONFIG, attention_bias=True))
    lonely = {k: v for k, v in weights.items() if not k.endswith(("k_proj.bias", "o_proj.bias"))}
    zeros = {k: torch.zeros_like(v) for k, v in weights.items() if k not in lonely}
    results = []
    for tensors in (lonely, lonely | zeros):
        storage = make_storage(CONFIG, num_blocks=2, block_size=16)
        sequence = CachedSequence((0, 1))
        decoder = build_native(StateDictSource(CONFIG, tensors))
        results.append(all_logits(decoder, storage, sequence, IDS[:20], [20]))
    torch.testing.assert_close(*results)
