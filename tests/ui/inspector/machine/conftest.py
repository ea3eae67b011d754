"""A machine of 16 GiB with a model on its processor."""

from dataclasses import replace

import pytest

from engine.api import EngineStats, MachineCeilings, ModelOptions, Precision
from tests.helpers.fake_engine import model_info
from tests.helpers.reports import make_report
from ui.inspector.machine.picture import MachinePicture
from ui.theme import ThemeSource

MIB = 1 << 20


@pytest.fixture
def themes():
    return ThemeSource()


@pytest.fixture
def stats():
    return EngineStats(
        at_ns=1,
        kv_live_tokens=0,
        kv_live_blocks=0,
        kv_cached_blocks=2,
        kv_total_blocks=128,
        kv_block_bytes=MIB,
        num_running=0,
        num_waiting=0,
        weights_bytes=90 * MIB,
        kv_allocated_bytes=128 * MIB,
        process_bytes=500 * MIB,
        other_programs_bytes=4096 * MIB,
        total_memory_bytes=16_384 * MIB,
        runtime_bytes=300 * MIB,
    )


@pytest.fixture
def info():
    return model_info(ModelOptions("/m/small.gguf"))


@pytest.fixture
def ceilings():
    rates = {
        Precision.INT4: 3e11,
        Precision.INT8: 4e11,
        Precision.BF16: 2e11,
        Precision.FP32: 1e11,
    }
    return MachineCeilings("cpu", 2, 1e10, 9e9, rates, 1_700_000_000.0)


@pytest.fixture
def report():
    return make_report()


@pytest.fixture
def picture(stats, info, report, ceilings):
    return MachinePicture(stats, info, report, ceilings)


@pytest.fixture
def exceeded(picture, report):
    """An answer that read at 12 of at most 10 GB/s."""
    line = report.roofline
    decode = replace(line.decode, bytes_per_s=1.2 * line.decode.bytes_per_s_ceiling)
    return replace(picture, report=replace(report, roofline=replace(line, decode=decode)))
