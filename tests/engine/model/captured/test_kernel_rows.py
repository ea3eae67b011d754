"""A whole decoder's captured steps through the kernels, against eager ones."""

from dataclasses import replace

import pytest
import torch

from engine.api import Precision
from engine.config import KVFormat
from engine.kv.grouped import make_storage
from engine.kv.storage import PagedStorage
from engine.model.captured.device import CudaGraphs
from engine.model.captured.kernel_rows import KernelKind
from engine.model.captured.rows import DecoderShape, Places, RowsKind
from engine.model.config import ModelConfig
from engine.model.native import NativeDecoder
from engine.runner import build_batch
from engine.scheduling.plan import StepPlan
from tests.helpers import windowed
from tests.helpers.captured_decoder import capture, greedy
from tests.helpers.decoding import CachedSequence, ignore_progress, never
from tests.helpers.fake_graphs import BrokenGraphs, FakeGraphs
from tests.helpers.state_dict_source import StateDictSource, random_state_dict
from tests.helpers.triton_device import is_interpreted, kernel_device
from tests.helpers.windowed import Served, window_geometry

DEVICE = kernel_device()
CONFIG = ModelConfig(
    model_type="llama",
    name="tiny",
    vocab_size=61,
    hidden_size=64,
    intermediate_size=96,
    num_layers=2,
    num_heads=6,
    num_kv_heads=2,
    head_dim=32,
    rms_norm_eps=1e-5,
    rope_theta=10_000.0,
    max_position_embeddings=128,
    sliding_window=10,
    sliding_layers=(True, False),
    local_rope_theta=500.0,
)


def _kernels(storage: PagedStorage, shape: DecoderShape) -> RowsKind:
    return KernelKind(Places.of(storage), shape, 2)


def _decoder(config: ModelConfig) -> NativeDecoder:
    source = StateDictSource(config, random_state_dict(config))
    decoder = NativeDecoder.build(
        source, Precision.FP32, torch.float32, DEVICE, ignore_progress, never
    )
    decoder.capture_with(None)
    return decoder


@pytest.mark.parametrize(
    ("kept", "has_windows"),
    [(KVFormat.FLOAT32, True), (KVFormat.INT8, True), (KVFormat.INT4, False)],
)
def test_decoding_is_that_of_eager_steps(
    kept: KVFormat, has_windows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windowed, "CPU", DEVICE)
    config = CONFIG if has_windows else replace(CONFIG, sliding_window=0, sliding_layers=())
    geometry = window_geometry(
        config, num_blocks=20, window_blocks=12, block_size=8, chunk=16, kept=kept
    )
    graphs = FakeGraphs(is_strict=False) if is_interpreted() else CudaGraphs(DEVICE)
    decoders = (_decoder(config), _decoder(config))
    steps = capture(decoders[0], graphs, (_kernels,))
    draw = torch.Generator().manual_seed(2)
    texts = {n: torch.randint(61, (40,), generator=draw).tolist() for n in "ab"}
    outputs = []
    both = [Served(decoder, geometry) for decoder in decoders]
    for served in both:
        logits = []
        for name, ids in texts.items():
            served.open(name, ids)
            logits += served.read({name: ids}, [13])
        for names in ("ab", "b", "ba"):
            logits += served.read({n: texts[n] for n in names}, [1] * len(names))
        outputs.append(torch.cat(logits).cpu())
    tolerance = 1e-4 if kept is KVFormat.FLOAT32 else 5e-3
    torch.testing.assert_close(*outputs, atol=tolerance, rtol=1e-3)
    assert greedy(outputs[0]) == greedy(outputs[1])
    assert set(steps._graphs) == {(1, 16), (2, 16)}
    assert steps.fact == "decode: one captured graph a step, paged attention in Triton"


def test_a_driver_that_is_not_found_is_a_failed_capture() -> None:
    decoder = _decoder(replace(CONFIG, sliding_window=0, sliding_layers=()))
    steps = capture(decoder, BrokenGraphs(AssertionError("libcuda.so cannot found!")), (_kernels,))
    geometry = window_geometry(
        decoder.config,
        num_blocks=4,
        window_blocks=4,
        block_size=8,
        chunk=16,
        kept=KVFormat.FLOAT32,
    )
    storage = make_storage(geometry, DEVICE)
    batch = build_batch(StepPlan((CachedSequence((1,)).chunk([3], 1),)), 8, DEVICE)
    assert decoder.forward(batch, storage, never).isfinite().all()
    assert "AssertionError: libcuda.so cannot found!" in steps.fact
