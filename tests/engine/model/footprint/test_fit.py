"""Where a model fits: whole, cut in two, or not; and that the parts are what is then allocated."""

from contextlib import closing
from dataclasses import replace

import pytest
import torch

from engine.api import Device, KVPrecision, Precision
from engine.model.footprint.checkpoint import blueprint_of
from engine.model.footprint.fit import (
    RUNTIME_BYTES,
    Demand,
    Fitted,
    Fitter,
    Mode,
    Needs,
    Place,
    Shortage,
)
from engine.model.footprint.target import target_of
from engine.model.hf_source import HfSource
from engine.model.offloaded import OffloadedDecoder
from engine.model.offloaded import Place as DevicePlace
from tests.helpers.family_folders import FAMILIES, write_family

GIB = 1 << 30
HERE = target_of(Device.CPU)
CONTEXT = Demand(256, 256, 256)
OPEN = Demand(256, 256, 16, is_open=True)
PRECISIONS = (Precision.INT4, Precision.INT8, Precision.BF16, Precision.FP32)
FLOATS = Mode(Precision.FP32)
CPU = DevicePlace(torch.device("cpu"), torch.float32)


def print_nothing(_done: int, _total: int) -> None:
    return


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = write_family(tmp_path_factory.mktemp("model") / "x", FAMILIES["llama untied"])
    with closing(HfSource.open(folder)) as opened:
        yield opened


@pytest.fixture(scope="module")
def blueprint(source):
    return blueprint_of(source)


def whole(blueprint, mode, demand=CONTEXT):
    return Needs(blueprint, mode, HERE).of(demand.context, demand.pool)


def fit(blueprint, budget, demand=CONTEXT, mode=FLOATS, host=GIB):
    """The GPU is a CPU under another name: what is allocated on it is the same."""
    places = Place(GIB, HERE, budget), Place(host, HERE)
    return Fitter(blueprint, mode, *places).fit(demand)


def test_enough_memory_holds_the_whole(blueprint):
    found = Fitter(blueprint, Mode(Precision.INT8), Place(GIB, HERE)).fit(CONTEXT)
    assert isinstance(found, Fitted)
    assert (found.context, found.pool, found.cpu_layers, found.host) == (256, 256, 0, None)
    assert found.device == whole(blueprint, Mode(Precision.INT8))


def test_the_peak_is_the_limit(blueprint):
    mode = Mode(Precision.INT8)
    peak = whole(blueprint, mode).peak
    assert isinstance(Fitter(blueprint, mode, Place(peak, HERE)).fit(CONTEXT), Fitted)
    short = Fitter(blueprint, mode, Place(peak - 1, HERE)).fit(CONTEXT)
    assert short == Shortage(peak, peak - 1)


def test_an_open_context_takes_the_most_that_fits(blueprint):
    mode = Mode(Precision.INT8)
    for pool in (16, 48, 240):
        room = Needs(blueprint, mode, HERE).of(pool, pool).peak
        found = Fitter(blueprint, mode, Place(room, HERE)).fit(OPEN)
        assert isinstance(found, Fitted)
        assert found.context == found.pool == pool


def test_a_narrow_cache_leaves_more_room(blueprint):
    sizes = [
        whole(blueprint, Mode(Precision.INT8, kv)).kv
        for kv in (KVPrecision.FP32, KVPrecision.BF16, KVPrecision.INT8, KVPrecision.INT4)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 2 * sizes[1]
    # through torch, the cache is kept as the decoder computes
    torch_only = replace(blueprint, has_native_step=False)
    assert whole(torch_only, Mode(Precision.INT8)).kv == sizes[0]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_both_parts_are_what_is_allocated(source, blueprint, precision):
    mode = Mode(precision, KVPrecision.FP32)
    need = whole(blueprint, mode)
    found = fit(blueprint, need.weights + max(need.kv, need.packing) - 1, mode=mode)
    assert isinstance(found, Fitted)
    assert found.host is not None
    assert 0 < found.cpu_layers < 4
    dtype = torch.bfloat16 if HERE.compute_bytes(precision) == 2 else torch.float32
    place = CPU._replace(dtype=dtype)
    decoder = OffloadedDecoder.build(
        source, precision, found.cpu_layers, (place, place), print_nothing, bool
    )
    assert found.device.weights == pytest.approx(decoder.gpu_bytes, rel=0.05)
    assert found.host.weights == pytest.approx(decoder.cpu_bytes, rel=0.05)
    assert found.device.kv + found.host.kv == pytest.approx(need.kv, rel=0.001)


def test_a_smaller_gpu_leaves_more_to_the_cpu(blueprint):
    budgets = range(0, whole(blueprint, Mode(Precision.FP32)).weights * 2, 50_000)
    counts = [fit(blueprint, budget).cpu_layers for budget in budgets]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == 4
    assert counts[-1] == 0
    assert len(set(counts)) == 5


def test_the_computer_must_hold_its_part(blueprint):
    found = fit(blueprint, 3_000_000, host=RUNTIME_BYTES)
    assert isinstance(found, Shortage)
    assert found.needed > found.available == RUNTIME_BYTES


def test_a_gpu_without_a_useful_context_is_shared(blueprint):
    large = replace(blueprint, context_length=1 << 20)
    demand = Demand(1 << 20, 1 << 20, 16, is_open=True)
    mode = Mode(Precision.FP32)
    short = Needs(large, mode, HERE).of(1_024, 1_024)
    found = fit(large, short.weights + short.kv, demand)
    assert isinstance(found, Fitted)
    assert found.cpu_layers > 0
    assert found.context >= 4_096
