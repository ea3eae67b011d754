"""Layers on two devices give the logits of one; the second device is a CPU counted apart."""

from dataclasses import replace

import pytest
import torch

from engine.api import Precision
from engine.config import KVFormat, KVGeometry
from engine.errors import LoadCancelledError
from engine.kv.split import SplitStorage
from engine.model.batch import ForwardInterruptedError
from engine.model.config import ModelConfig
from engine.model.native import NativeDecoder
from engine.model.offload import by_layer, split_layers
from engine.model.offloaded import OffloadedDecoder, Place
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
    num_layers=5,
    num_heads=4,
    num_kv_heads=2,
    head_dim=8,
    rms_norm_eps=1e-5,
    rope_theta=10_000.0,
    max_position_embeddings=128,
    tie_word_embeddings=True,
    sliding_window=6,
    sliding_layers=(True, False, True, True, False),
)
IDS = torch.randint(61, (29,), generator=torch.Generator().manual_seed(5)).tolist()
BLOCKS = (3, 9, 0, 5)
GEOMETRY = KVGeometry(5, 2, 8, block_size=8, num_blocks=10, format=KVFormat.FLOAT32)


def source(config: ModelConfig = CONFIG) -> StateDictSource:
    return StateDictSource(config, random_state_dict(config))


def build(
    cpu_layers: int, gpu: torch.device = CPU, is_cancelled=never, config: ModelConfig = CONFIG
) -> OffloadedDecoder:
    places = (Place(CPU, torch.float32), Place(gpu, torch.float32))
    return OffloadedDecoder.build(
        source(config), Precision.FP32, cpu_layers, places, ignore_progress, is_cancelled
    )


def storage(
    cpu_layers: int, gpu: torch.device = CPU, kept: KVFormat = KVFormat.FLOAT32
) -> SplitStorage:
    runs = ((CPU, cpu_layers), (gpu, 5 - cpu_layers))
    return SplitStorage(replace(GEOMETRY, format=kept), runs)


@pytest.fixture(scope="module")
def whole() -> NativeDecoder:
    return build_native(source())


@pytest.mark.parametrize("cpu_layers", [1, 3, 4])
@pytest.mark.parametrize("lengths", [(29,), (7, 1, 12, 9), (24, 1, 1, 1, 1, 1)], ids=str)
def test_logits_equal_those_of_one_device(whole, cpu_layers, lengths):
    plain = make_storage(CONFIG, num_blocks=10, block_size=8)
    expected = all_logits(whole, plain, CachedSequence(BLOCKS), IDS, lengths)
    logits = all_logits(
        build(cpu_layers), storage(cpu_layers), CachedSequence(BLOCKS), IDS, lengths
    )
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kept", KVFormat)
def test_every_kind_of_cache_is_split(whole, kept):
    lengths = (20, 1, 8)
    plain = make_storage(CONFIG, num_blocks=10, block_size=8, kept=kept)
    expected = all_logits(whole, plain, CachedSequence(BLOCKS), IDS, lengths)
    logits = all_logits(build(2), storage(2, kept=kept), CachedSequence(BLOCKS), IDS, lengths)
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)


def test_requests_of_a_batch_and_rows_without_logits(whole):
    def run(decoder, pools):
        first, second = CachedSequence(BLOCKS), CachedSequence((1, 2, 4, 6))
        forward(decoder, pools, first.chunk(IDS[:20], 0), second.chunk(IDS[:3], 1))
        return forward(decoder, pools, first.chunk(IDS[20:], 2), second.chunk(IDS[3:9], 1))

    expected = run(whole, make_storage(CONFIG, num_blocks=10, block_size=8))
    torch.testing.assert_close(run(build(2), storage(2)), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("is_tied", [True, False])
@pytest.mark.parametrize("share", [0.35, 0.6, 0.9])
def test_planned_bytes_are_allocated_bytes(is_tied, share):
    config = replace(CONFIG, tie_word_embeddings=is_tied)
    whole = build_native(source(config))
    tensors = random_state_dict(config)
    if is_tied:
        tensors.pop("lm_head.weight", None)
    sizes = {name.removeprefix("model."): tensor.nbytes for name, tensor in tensors.items()}
    parts = by_layer(sizes, 5, is_tied=is_tied, kv_layer=GEOMETRY.total_bytes // 5)
    budget = int(share * (whole.weights_bytes + GEOMETRY.total_bytes))
    split = split_layers(parts, budget)
    assert 0 < split.cpu_layers < 5
    decoder, pools = build(split.cpu_layers, config=config), storage(split.cpu_layers)
    norm = 32 * 4  # the last norm marks the device of each part
    assert decoder.gpu_bytes + pools.pools[1].nbytes == split.gpu_bytes <= budget
    assert decoder.cpu_bytes + pools.pools[0].nbytes - norm == split.cpu_bytes
    assert pools.nbytes == GEOMETRY.total_bytes
    assert decoder.weights_bytes == decoder.cpu_bytes + decoder.gpu_bytes


def test_a_stop_is_obeyed_on_both_sides():
    decoder, pools = build(3), storage(3)
    batch = build_batch(StepPlan((CachedSequence(BLOCKS).chunk(IDS, 1),)), 8, CPU)
    for layers_before in (1, 4):
        answers = iter([*[False] * layers_before, True])
        with pytest.raises(ForwardInterruptedError):
            decoder.forward(batch, pools, lambda answers=answers: next(answers))
    assert decoder.forward(batch, pools, never).shape == (1, 61)


def test_cancellation():
    with pytest.raises(LoadCancelledError):
        build(2, is_cancelled=lambda: True)


def test_the_sheet_names_both_sides():
    kernels = build(2).kernels
    assert "qkv: FP32 product" in kernels
    assert "CPU qkv: FP32 product" in kernels


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_real_gpu(whole):
    gpu = torch.device("cuda")
    expected = all_logits(
        whole,
        make_storage(CONFIG, num_blocks=10, block_size=8),
        CachedSequence(BLOCKS),
        IDS,
        (29,),
    )
    logits = all_logits(build(2, gpu), storage(2, gpu), CachedSequence(BLOCKS), IDS, (20, 9))
    assert logits.device.type == "cuda"
    torch.testing.assert_close(logits.cpu(), expected, atol=1e-3, rtol=1e-3)
