"""The random models that speed is measured with are ones the engine reads."""

import time

import pytest
import torch

from engine.api import (
    Device,
    GenerationRequest,
    ModelOptions,
    ModelReady,
    Precision,
    SamplingParams,
    TokensProduced,
)
from engine.core import EngineCore
from engine.model.footprint.target import target_of
from engine.model.footprint.weights import allocated_bytes
from engine.model.gguf_source import GgufSource
from engine.planner.find import find_blueprint
from tests.perf.random_gguf import SHAPES, num_bytes, tensors, write_random


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("threads")
def test_a_random_model_answers(tmp_path) -> None:
    path = write_random(tmp_path / "tiny.gguf", SHAPES["tiny"], "tiny")
    core = EngineCore()
    ready = core.load(ModelOptions(str(path), threads=1))[-1]
    assert isinstance(ready, ModelReady)
    planned = allocated_bytes(find_blueprint(str(path)), Precision.INT4, target_of(Device.CPU))
    assert planned == core.stats().weights_bytes
    params = SamplingParams(max_tokens=3, ignore_eos=True, temperature=0.0)
    core.submit(GenerationRequest("a", time.perf_counter_ns(), params, prompt="some words"))
    events = []
    while core.has_work:
        events += core.step()
    core.unload()
    assert sum(len(e.token_ids) for e in events if isinstance(e, TokensProduced)) == 3


def test_weights_are_small_and_around_zero(tmp_path) -> None:
    path = write_random(tmp_path / "tiny.gguf", SHAPES["tiny"], "tiny")
    source = GgufSource.open(path)
    values = source.weight("layers.0.down").dequantize()
    source.close()
    assert abs(float(values.mean())) < 5e-3
    assert 0.01 < float(values.std()) < 0.03


@pytest.mark.parametrize(("name", "billions"), [("1.1b", 1.1), ("7b", 6.7)])
def test_shapes_are_those_of_published_models(name, billions) -> None:
    shapes = dict(tensors(SHAPES[name]))
    count = sum(dims[0] * (dims[1] if len(dims) > 1 else 1) for dims in shapes.values())
    assert count / 1e9 == pytest.approx(billions, abs=0.06)
    assert sum(map(num_bytes, shapes.values())) == pytest.approx(count * 18 / 32, rel=1e-3)
