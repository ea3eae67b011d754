"""Predicted gains, against sums done by hand."""

from dataclasses import replace

import pytest

from engine.api import CacheMiss, DiagnosisKind, MissKind
from engine.diagnosis.observation import MachineState, Offload, PrefillCost, StepCost
from engine.diagnosis.remedies import remedies_for
from tests.helpers.observations import MS, make_seen, make_timeline

# 9 ms of 10 are read at 10 GB/s, 1 ms is overhead
STEP = StepCost(80_000_000, 10_000_000, 1e10, 1e10, row_s=1e-3, overhead_s=1e-3)


def _by_key(kind, seen):
    return {remedy.key: remedy for remedy in remedies_for(kind, seen)}


def test_fewer_bits_are_read_faster() -> None:
    line = make_timeline(prefill=98, decode=1_000, tokens=101)  # 1,102 ms in all
    seen = make_seen(
        line,
        step=STEP,
        other_weights={"int4": replace(STEP, weight_bytes=40_000_000)},
        other_kv={"int8": replace(STEP, cache_bytes=5_000_000), "bf16": STEP},
    )
    found = _by_key(DiagnosisKind.DECODE_BOUND, seen)
    assert set(found) == {"weights"}  # 5% of a step, and less of the answer, are not worth it
    remedy = found["weights"]
    assert (remedy.value, remedy.saved_ns) == ("int4", 400 * MS)
    assert remedy.gain == pytest.approx(seen.total_ns / (seen.total_ns - 400 * MS))
    cache = replace(STEP, cache_bytes=50_000_000)
    less = {"int4": replace(cache, cache_bytes=12_500_000)}
    found = _by_key(DiagnosisKind.DECODE_BOUND, replace(seen, step=cache, other_kv=less))
    assert found["kv"].saved_ns == pytest.approx(1_000 * MS * 37.5 / 140)


def test_guessing_that_does_not_pay_is_left() -> None:
    line = replace(make_timeline(), num_drafted_tokens=50, plain_step_ns=8 * MS)
    found = _by_key(DiagnosisKind.DECODE_BOUND, make_seen(line, other_weights={}))
    assert found["draft"].saved_ns == pytest.approx(200 * MS)


def test_threads_share_the_arithmetic_and_leave_others_theirs() -> None:
    line = make_timeline(prefill=8_000, tokens=8)
    machine = MachineState(cores=4, threads=1, other_cores=1.1)
    seen = make_seen(line, machine=machine, prefill=None)
    remedy = _by_key(DiagnosisKind.PREFILL_BOUND, seen)["threads"]
    assert (remedy.value, remedy.saved_ns) == (3, round(8_000 * MS * 2 / 3))
    full = replace(seen, machine=replace(machine, threads=3))
    assert not remedies_for(DiagnosisKind.PREFILL_BOUND, full)


def test_faster_products_save_the_arithmetic_alone() -> None:
    cost = PrefillCost(4_000, 1e3, {"int8": 4e3, "fp32": 0.5e3})  # 4 s of 8
    seen = make_seen(make_timeline(prefill=8_000), prefill=cost)
    remedy = _by_key(DiagnosisKind.PREFILL_BOUND, seen)["weights"]
    assert (remedy.value, remedy.saved_ns) == ("int8", 3_000 * MS)


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        (MissKind.CACHE_OFF, "prefix_cache", True),
        (MissKind.EVICTED, "kv_budget_mib", 15),  # 4,101 tokens of 1 KiB more
        (MissKind.RELOADED, "keep_cache", True),
        (MissKind.TEXT_CHANGED, None, None),
    ],
)
def test_a_kept_cache_saves_what_was_lost(kind, key, value) -> None:
    line = make_timeline(prefill=8_000, prompt=4_000, miss=CacheMiss(kind, 0, 3_000))
    seen = make_seen(
        line, kv_bytes_per_token=1_024, kv_budget_bytes=10 << 20, num_known_before=3_000
    )
    found = remedies_for(DiagnosisKind.CACHE_MISS, seen)
    if key is None:
        assert found == ()
        return
    (remedy,) = found
    assert (remedy.key, remedy.value, remedy.saved_ns) == (key, value, 6_000 * MS)


def test_all_streams_at_once() -> None:
    line = make_timeline(queue=20_000, prefill=100, decode=1_000)
    seen = make_seen(line, step=STEP, num_ahead=29, max_streams=2)
    (remedy,) = remedies_for(DiagnosisKind.QUEUE_BOUND, seen)
    assert (remedy.key, remedy.value) == ("max_streams", 30)
    # 29 prompts come first, and a step of 30 rows takes 31 ms instead of 10
    assert remedy.saved_ns == pytest.approx((20_000 - 2_900 - 2_100) * MS)
    assert not remedies_for(DiagnosisKind.QUEUE_BOUND, replace(seen, num_ahead=1))


def test_a_higher_budget_and_fewer_bytes_for_the_card() -> None:
    there = Offload(
        host_bytes=10**9,
        host_bytes_per_s=1e10,
        device_bytes=10**10,
        device_bytes_per_s=1e12,
        free_bytes=10**9,
        is_capped=True,
    )
    half = {"int4": replace(STEP, weight_bytes=35_000_000)}
    seen = make_seen(make_timeline(), step=STEP, other_weights=half, offload=there)
    found = _by_key(DiagnosisKind.MEMORY_SPILLED, seen)
    assert found["gpu_budget_mib"].value == -(-11 * 10**9 // 2**20)
    assert found["gpu_budget_mib"].saved_ns == pytest.approx(1_000 * MS * 99 / 110, rel=1e-6)
    assert found["weights"].saved_ns == pytest.approx(1_000 * MS * (1 - 5.5 / 110), rel=1e-6)


def test_weights_that_leave_nothing_to_swap() -> None:
    machine = MachineState(cores=2, threads=2, swapped_in_bytes=30_000_000)
    half = {"int4": replace(STEP, weight_bytes=40_000_000)}
    seen = make_seen(make_timeline(), step=STEP, other_weights=half, machine=machine)
    (remedy,) = remedies_for(DiagnosisKind.MEMORY_SPILLED, seen)
    assert remedy.saved_ns == pytest.approx(1_000 * MS * (1 - 0.6 * 0.9))
    machine = replace(machine, swapped_in_bytes=60_000_000)
    assert not remedies_for(DiagnosisKind.MEMORY_SPILLED, replace(seen, machine=machine))


def test_a_full_frequency_and_a_quiet_machine() -> None:
    line = make_timeline(prefill=1_000, decode=1_000)
    machine = MachineState(2, 2, other_cores=1.0, mhz_now=1_500, mhz_max=3_000)
    seen = make_seen(line, reading=0.2, machine=machine)
    (power,) = remedies_for(DiagnosisKind.THROTTLED, seen)
    assert (power.key, power.value, power.saved_ns) == ("power", None, 1_000 * MS)
    (quiet,) = remedies_for(DiagnosisKind.CONTENDED, seen)  # one thread instead gains nothing
    assert (quiet.key, quiet.saved_ns) == ("other_programs", 1_000 * MS)
    crowded = replace(machine, cores=8, threads=8)
    found = _by_key(DiagnosisKind.CONTENDED, replace(seen, machine=crowded))
    assert found["threads"].value == 7
    assert found["threads"].saved_ns == round(2_000 * MS * (1 - 4 / 7))


def test_what_others_had_of_the_time_without_a_core() -> None:
    machine = MachineState(2, 2, other_cores=0.3, own_cores=0.1, waited=0.2)
    line = make_timeline(prefill=1_000, decode=1_000)
    seen = make_seen(line, reading=0.5, machine=machine, other_weights={})
    (remedy,) = remedies_for(DiagnosisKind.DECODE_BOUND, seen)
    assert (remedy.key, remedy.saved_ns) == ("other_programs", 300 * MS)  # three quarters of it
    crowded = replace(machine, cores=8, threads=8, waited=0.5, other_cores=1.0)
    found = _by_key(DiagnosisKind.CONTENDED, replace(seen, machine=crowded))
    assert found["threads"].value == 7
    assert found["threads"].saved_ns == round(2_000 * MS * (1 - 4 / 7))
    full = replace(machine, waited=0.8, other_cores=1.8)
    assert set(_by_key(DiagnosisKind.CONTENDED, replace(seen, machine=full))) == {"other_programs"}
    alone = replace(machine, other_cores=0.0)
    assert not remedies_for(DiagnosisKind.DECODE_BOUND, replace(seen, machine=alone))


def test_what_the_host_had_of_the_time() -> None:
    line = make_timeline(prefill=1_000, decode=1_000)
    machine = MachineState(2, 2, other_cores=0.0, stolen=0.25)
    seen = make_seen(line, reading=0.5, machine=machine, other_weights={})
    for kind in (DiagnosisKind.STOLEN, DiagnosisKind.DECODE_BOUND):
        (remedy,) = remedies_for(kind, seen)
        assert (remedy.key, remedy.value, remedy.saved_ns) == ("quiet_host", None, 500 * MS)
    for nothing in (0.0, None):
        alone = replace(seen, machine=replace(machine, stolen=nothing))
        assert not remedies_for(DiagnosisKind.STOLEN, alone)


def test_a_native_step_instead_of_layers_one_by_one() -> None:
    slow = replace(STEP, overhead_s=6e-3)
    seen = make_seen(
        make_timeline(decode=1_500), step=slow, other_weights={"int8": STEP}, is_native=False
    )
    (remedy,) = remedies_for(DiagnosisKind.HOST_BOUND, seen)
    assert (remedy.key, remedy.saved_ns) == ("weights", 500 * MS)
    assert not remedies_for(DiagnosisKind.HOST_BOUND, replace(seen, is_native=True))


def test_more_threads_read_faster_where_that_was_measured() -> None:
    faster = replace(STEP, weight_bytes_per_s=1.6e10, cache_bytes_per_s=1.6e10)
    seen = make_seen(make_timeline(), step=STEP, other_weights={}, more_threads={2: faster})
    (remedy,) = remedies_for(DiagnosisKind.DECODE_BOUND, seen)
    assert (remedy.key, remedy.value) == ("threads", 2)
    assert remedy.saved_ns == pytest.approx(1_000 * MS * (1 - 6.625 / 10))


def test_with_the_cache_a_step_reads_and_computes_one_token() -> None:
    seen = make_seen(make_timeline(decode=5_000), step=STEP, keeps_cache=False)
    (remedy,) = remedies_for(DiagnosisKind.CACHE_MISS, seen)
    assert (remedy.key, remedy.value, remedy.saved_ns) == ("kv_cache", True, 4_000 * MS)
