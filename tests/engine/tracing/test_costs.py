"""What a model's steps cost, held to the planner's figures and the loader's."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine.api import Device, KVPrecision, LoadProgress, ModelInfo, ModelOptions, Precision
from engine.model.footprint.setup import Setup
from engine.model.footprint.target import target_of
from engine.model.loader import load_model
from engine.planner.find import find_blueprint
from engine.planner.speed import Parts, decode_tokens_per_s
from engine.tracing.costs import ModelCosts
from tests.engine.cli.test_plan import CEILINGS
from tests.helpers.tiny_models import write_tiny_model


def _ignore(_progress: LoadProgress) -> None:
    return


@pytest.fixture(scope="module")
def info(tmp_path_factory) -> ModelInfo:
    path: Path = write_tiny_model(tmp_path_factory.mktemp("model") / "tiny.gguf")
    options = ModelOptions(str(path), weights=Precision.FP32, kv=KVPrecision.FP32, threads=1)
    return load_model(options, _ignore, lambda: False).info


def test_a_step_takes_what_the_planner_says(info) -> None:
    costs = ModelCosts(info, CEILINGS)
    step = costs.step(40)
    assert step is not None
    setup = Setup(Precision.FP32, KVPrecision.FP32, 40, 1, target_of(Device.CPU))
    rate = decode_tokens_per_s(find_blueprint(info.path), Parts(setup), CEILINGS)
    assert step.read_s + step.overhead_s == pytest.approx(1 / rate)
    assert 0 < step.weight_bytes <= info.weights_bytes
    assert step.cache_bytes == 40 * info.kv_bytes_per_token


def test_other_precisions_are_the_others(info) -> None:
    costs = ModelCosts(info, CEILINGS)
    step = costs.step(40)
    weights, kv = costs.other_weights(40), costs.other_kv(40)
    assert set(weights) == {"int4", "int8", "bf16"}
    assert all(cost.weight_bytes < step.weight_bytes for cost in weights.values())
    assert set(kv) == {"int4", "int8", "bf16"}
    assert all(cost.cache_bytes < step.cache_bytes for cost in kv.values())


def test_a_prompts_arithmetic(info) -> None:
    costs = ModelCosts(info, CEILINGS)
    whole, rest = costs.prefill(64, 0), costs.prefill(64, 48)
    assert whole.flops == 4 * rest.flops
    assert 0 < rest.attention_flops < whole.attention_flops
    assert whole.seconds == pytest.approx(
        whole.flops / CEILINGS.fp32_flops_per_s
        + whole.attention_flops / CEILINGS.attention_flops_per_s
    )
    assert whole.flops_per_s == CEILINGS.fp32_flops_per_s
    assert set(whole.other_rates) == {"int4", "int8", "bf16"}
    assert costs.token_flops(40) > whole.flops / 64  # the head is for the last token alone


def test_kept_bytes_are_those_of_the_cache(info) -> None:
    (kept,) = ModelCosts(info, None).kept(40)
    assert (kept.kind, kept.layers) == ("full", info.num_layers)
    assert kept.num_bytes == kept.read_bytes == 40 * info.kv_bytes_per_token


def test_without_ceilings_or_a_plan_nothing_is_said(info) -> None:
    no_ceilings = ModelCosts(info, None)
    unknown = ModelCosts(replace(info, path="not there"), CEILINGS)
    for costs in (no_ceilings, unknown):
        assert costs.step(40) is costs.prefill(40, 0) is None
        assert costs.other_weights(40) == costs.other_kv(40) == {}
        assert costs.offload(40, 0, is_capped=False) is None
    assert unknown.kept(40) == []
    assert unknown.token_flops(40) is None


def test_layers_beside_a_card(info) -> None:
    card = replace(CEILINGS, device="cuda", int8_bytes_per_s=1e12, host=CEILINGS)
    split = replace(info, device=Device.CUDA, precision=Precision.INT8, num_cpu_layers=1)
    costs = ModelCosts(split, card)
    there, step = costs.offload(40, 7, is_capped=True), costs.step(40)
    assert there.host_bytes == pytest.approx(step.num_bytes * 1 / info.num_layers, abs=1)
    assert there.host_bytes + there.device_bytes == step.num_bytes
    assert there.host_bytes_per_s == CEILINGS.weight_bytes_per_s(Precision.INT8)
    assert (there.free_bytes, there.is_capped) == (7, True)
    assert ModelCosts(info, CEILINGS).offload(40, 7, is_capped=True) is None


def test_more_threads_where_their_ceilings_are_known(info) -> None:
    faster = replace(CEILINGS, threads=2, native_layer_s=1e-6, layer_s=1e-6)
    costs = ModelCosts(info, replace(CEILINGS, threads=1), faster)
    ((threads, cost),) = costs.more_threads(40).items()
    assert threads == 2
    assert cost.step_s() < costs.step(40).step_s()
    assert ModelCosts(info, CEILINGS, replace(faster, threads=1)).more_threads(40) == {}
    assert ModelCosts(info, CEILINGS).more_threads(40) == {}
