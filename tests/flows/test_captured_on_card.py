"""CUDA graphs, and the engine through them. Needs a card."""

import gc
from pathlib import Path

import pytest
import torch

from engine.api import Device, KVPrecision, ModelOptions, ModelReady, Precision
from engine.config import KVFormat, KVGeometry
from engine.core import EngineCore
from engine.kv.quantized import make_storage
from engine.model.captured.device import CudaGraphs
from engine.model.config import ModelConfig
from engine.model.loader import LoadedModel, load_model
from engine.model.native import NativeDecoder
from engine.runner import build_batch
from engine.scheduling.plan import StepPlan
from tests.helpers.busy_engine import answers, staggered_requests
from tests.helpers.decoding import CachedSequence, ignore_progress, never
from tests.helpers.state_dict_source import StateDictSource, random_state_dict
from tests.helpers.tiny_models import write_tiny_model

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
CUDA = torch.device("cuda")
CONFIG = ModelConfig(
    model_type="llama",
    name="small",
    vocab_size=512,
    hidden_size=256,
    intermediate_size=512,
    num_layers=4,
    num_heads=8,
    num_kv_heads=2,
    head_dim=64,
    rms_norm_eps=1e-5,
    rope_theta=10_000.0,
    max_position_embeddings=256,
)


def test_a_replay_reads_what_lies_there_now() -> None:
    given = torch.zeros(4, device=CUDA)
    graphs = CudaGraphs(CUDA)
    double = graphs.capture(lambda: given * 2)
    more = graphs.capture(lambda: given.cumsum(0) + 1)
    for value in (1.0, 3.0):
        given.fill_(value)
        assert double().tolist() == [2 * value] * 4
        assert more().tolist() == [value * i + 1 for i in range(1, 5)]


def test_what_waits_for_the_device_is_refused() -> None:
    given = torch.ones(4, device=CUDA)
    with pytest.raises(RuntimeError):
        CudaGraphs(CUDA).capture(lambda: given * float(given[0]))


@pytest.mark.parametrize("kept", [KVFormat.FLOAT16, KVFormat.INT8, KVFormat.INT4])
@pytest.mark.parametrize("precision", [Precision.INT4, Precision.BF16])
def test_steps_of_four_bit_and_dense_products_agree(precision: Precision, kept: KVFormat) -> None:
    source = StateDictSource(CONFIG, random_state_dict(CONFIG))
    decoder = NativeDecoder.build(source, precision, torch.float16, CUDA, ignore_progress, never)
    steps = decoder._captured
    assert steps is not None
    outputs = []
    storages = [make_storage(KVGeometry(4, 2, 64, 16, 32, kept), CUDA) for _ in range(2)]
    for captured, storage in zip((steps, None), storages, strict=True):
        decoder.capture_with(captured)
        texts = [CachedSequence(tuple(range(i, 30, 3))) for i in range(3)]
        draw = torch.Generator().manual_seed(5)
        logits = []
        for lengths in ((20, 0, 0), (0, 33, 0), (0, 0, 7), (1, 1, 1), (1, 0, 1), (1, 1, 1)):
            chunks = [
                text.chunk(torch.randint(512, (length,), generator=draw).tolist(), 1)
                for text, length in zip(texts, lengths, strict=True)
                if length
            ]
            batch = build_batch(StepPlan(tuple(chunks)), 16, CUDA)
            logits.append(decoder.forward(batch, storage, never))
        outputs.append(torch.cat(logits))
    ours, eager = outputs
    assert (ours - eager).norm() <= 2e-2 * eager.norm()
    assert steps.num_graphs == 2, steps.fact


@pytest.mark.parametrize("kept", [KVPrecision.FP32, KVPrecision.INT8, KVPrecision.INT4])
def test_answers_are_the_same_and_the_memory_comes_back(tmp_path: Path, kept: KVPrecision) -> None:
    path = write_tiny_model(tmp_path / "tiny.gguf")
    options = ModelOptions(
        str(path), weights=Precision.FP32, device=Device.CUDA, kv=kept, context_length=128
    )
    ways = [True, False]

    def load(*given) -> LoadedModel:
        model = load_model(*given)
        assert isinstance(model.decoder, NativeDecoder)
        assert any(line.startswith("decode: one captured") for line in model.info.kernels)
        if not ways.pop(0):
            model.decoder.capture_with(None)
        return model

    outputs, left = [], []
    while ways:
        core = EngineCore(load)
        assert isinstance(core.load(options)[-1], ModelReady)
        outputs.append(answers(core, staggered_requests())[0])
        core.unload()
        gc.collect()
        torch.cuda.empty_cache()
        left.append(torch.cuda.memory_reserved())
    assert outputs[0] == outputs[1]
    assert left[0] <= left[1] + (32 << 20)
