"""The planner's verdict and the loader's decision are the same decision."""

from contextlib import closing
from dataclasses import replace

import pytest

from engine.api import Device, Fit, ModelOptions, Precision
from engine.errors import OutOfMemoryError
from engine.model import resolve as resolving
from engine.model.footprint.target import target_of
from engine.model.hf_source import HfSource
from engine.model.resolve import resolve
from engine.planner.find import find_blueprint
from engine.planner.machine import Machine
from engine.planner.plan import plan
from engine.planner.room import Memory, Verdict
from engine.planner.wish import Wish
from tests.helpers.family_folders import FAMILIES, write_family

GIB = 1 << 30
HERE = target_of(Device.CPU)
LLAMA = find_blueprint("llama-3.1-8b")
RUNTIME = 256 << 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_family(tmp_path_factory.mktemp("model") / "x", FAMILIES["llama untied"])


def machines(gpu, host):
    """A computer with a card of ``gpu`` bytes (None: without), for the planner and the loader."""
    memory = Memory(64 * GIB, host)
    planned = Machine(memory, HERE)
    loading = resolving.Machine(Device.CPU, 64 * GIB, host, HERE.has_native_bf16, 2)
    if gpu is None:
        return planned, loading
    card = replace(HERE, is_cuda=True)
    return (
        Machine(Memory(8 * GIB, gpu, is_cuda=True), card, planned),
        resolving.Machine(Device.CUDA, 8 * GIB, gpu, HERE.has_native_bf16, 2, loading),
    )


def decided(folder, options, machine):
    """Layers on the CPU, or None where the loader refuses."""
    with closing(HfSource.open(folder)) as source:
        try:
            config = resolve(options, source, machine)
        except OutOfMemoryError:
            return None
    all_there = machine.device is Device.CUDA and config.device is Device.CPU
    return source.config.num_layers if all_there else config.cpu_layers


@pytest.mark.parametrize("context", [None, 512])
@pytest.mark.parametrize("gpu", [None, 0, RUNTIME + 7_000_000, RUNTIME + 8_000_000, GIB])
def test_too_large_is_what_the_loader_refuses(folder, gpu, context):
    blueprint = find_blueprint(folder)
    options = ModelOptions(str(folder), Precision.FP32, context_length=context)
    seen = set()
    for host in range(RUNTIME, RUNTIME + 20_000_000, 1_500_000):
        planned, loading = machines(gpu, host)
        made = plan(blueprint, Wish(Precision.FP32, context=context), planned)
        found = decided(folder, options, loading)
        assert (made.verdict is Verdict.TOO_LARGE) == (found is None)
        if found is not None:
            assert made.cpu_layers == found
        seen.add(found is None)
    assert seen == ({True, False} if gpu != GIB else {False})


def test_a_budget_cuts_the_model(folder):
    planned, loading = machines(GIB, GIB)
    blueprint = find_blueprint(folder)
    options = ModelOptions(
        str(folder), Precision.FP32, context_length=512, gpu_budget_bytes=3_000_000
    )
    wish = Wish(Precision.FP32, context=512, gpu_budget=3_000_000)
    made = plan(blueprint, wish, planned)
    assert made.cpu_layers == decided(folder, options, loading) > 0
    assert any(f"{made.cpu_layers} of 4 layers run on the CPU" in r for r in made.reasons)
    assert made.verdict in {Verdict.FITS, Verdict.TIGHT}


def test_a_model_that_was_too_large_is_shared():
    card, _ = machines(6 * GIB, 32 * GIB)
    alone = replace(card, host=None)
    wish = Wish(Precision.INT8, context=4_096)
    assert plan(LLAMA, wish, alone).verdict is Verdict.TOO_LARGE
    made = plan(LLAMA, wish, card)
    assert (made.verdict, made.fits) == (Verdict.FITS, True)
    assert 0 < made.cpu_layers < 32
    assert made.available_bytes == 38 * GIB
    assert made.allocated_bytes > 8e9
    assert made.runtime_bytes == 2 * RUNTIME
    assert made.total_bytes == (
        made.allocated_bytes + made.kv_allocated_bytes + made.activation_bytes + made.runtime_bytes
    )


def test_the_margin_is_wanted_of_the_computer():
    wish = Wish(Precision.INT8, context=4_096)
    roomy, _ = machines(6 * GIB, 32 * GIB)
    tight, _ = machines(6 * GIB, 5_000_000_000)
    assert plan(LLAMA, wish, roomy).verdict is Verdict.FITS
    assert plan(LLAMA, wish, tight).verdict is Verdict.TIGHT
    small, _ = machines(6 * GIB, 2 * GIB)
    refused = plan(LLAMA, wish, small)
    assert refused.verdict is Verdict.TOO_LARGE
    assert any("Shared with the CPU" in reason for reason in refused.reasons)


def test_a_card_that_holds_no_layer_is_left_alone():
    planned, _ = machines(GIB // 4, 32 * GIB)
    made = plan(LLAMA, Wish(Precision.INT8), planned)
    assert (made.cpu_layers, made.verdict) == (32, Verdict.FITS)
    assert "all run on the CPU" in made.reasons[0]


def test_an_open_context_is_shortened_and_said():
    memory = Memory(16 * GIB, 9_800_000_000)
    made = plan(LLAMA, Wish(Precision.INT8), Machine(memory, HERE))
    assert made.verdict is Verdict.TIGHT
    assert made.context < 8_192
    assert any(f"shortened to {made.context:,} tokens" in reason for reason in made.reasons)
    asked = plan(LLAMA, Wish(Precision.INT8, context=8_192), Machine(memory, HERE))
    assert asked.verdict is Verdict.TOO_LARGE


def test_verdicts_have_the_names_of_fits():
    assert [v.value for v in Verdict] == [f.value for f in Fit]
