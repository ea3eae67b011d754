"""Predictions from ceilings that are made up, so that the arithmetic can be checked by hand."""

from dataclasses import replace

import pytest

from engine.api import KVPrecision, Precision
from engine.model.footprint.cache import attention_flops, cache_bytes_read
from engine.model.footprint.setup import Setup
from engine.model.footprint.weights import Target, allocated_bytes, head_bytes
from engine.planner.find import find_blueprint
from engine.planner.speed import (
    Parts,
    decode_flops,
    decode_tokens_per_s,
    prefill_tokens_per_s,
    runs_natively,
    weight_bytes_read,
)
from engine.roofline.ceilings import Ceilings

CEILINGS = Ceilings(
    device="cpu",
    threads=2,
    read_bytes_per_s=10e9,
    step_s=2e-4,
    layer_s=1e-4,
    native_layer_s=1e-5,
    attention_flops_per_s=5e10,
    cache_bytes_per_s=9e9,
    **{f"{name}_flops_per_s": 1e11 for name in ("fp32", "bf16", "int8", "int4")},
    **{f"{name}_bytes_per_s": 8e9 for name in ("fp32", "bf16", "int8", "int4")},
)
SETUP = Setup(Precision.INT8, KVPrecision.FP32, 1_000, 1, Target())
LLAMA = find_blueprint("llama-3.2-1b")


def test_decoding_reads_weights_and_cache_and_pays_for_layers():
    head = head_bytes(LLAMA, Precision.INT8, Target())
    weights = weight_bytes_read(LLAMA, SETUP) + head
    cache = cache_bytes_read(LLAMA.tracks, 1_000, KVPrecision.FP32)
    seconds = weights / 8e9 + cache / 9e9 + 16 * 1e-4 + 2e-4
    assert decode_tokens_per_s(LLAMA, Parts(SETUP), CEILINGS) == pytest.approx(1 / seconds)


def test_a_table_that_is_the_head_is_read_once():
    norms = LLAMA.vector_values * 4
    allocated = allocated_bytes(LLAMA, Precision.INT8, Target())
    head = head_bytes(LLAMA, Precision.INT8, Target())
    assert weight_bytes_read(LLAMA, SETUP) + head == allocated - norms


def test_no_product_is_faster_than_memory():
    quick = replace(CEILINGS, int8_bytes_per_s=1e15)
    assert quick.weight_bytes_per_s(Precision.INT8) == 10e9


def test_streams_share_the_reading_of_weights():
    one = decode_tokens_per_s(LLAMA, Parts(SETUP), CEILINGS)
    eight = decode_tokens_per_s(LLAMA, Parts(replace(SETUP, streams=8)), CEILINGS)
    assert one * 2 < eight < one * 8


def test_streams_choose_different_experts():
    mixtral = find_blueprint("mixtral-8x7b")
    reads = [weight_bytes_read(mixtral, replace(SETUP, streams=n)) for n in (1, 2, 4, 100)]
    assert reads[0] < reads[1] < reads[2] == reads[3]


def test_a_longer_context_is_slower():
    speeds = [
        decode_tokens_per_s(LLAMA, Parts(replace(SETUP, context=n)), CEILINGS)
        for n in (10, 1_000, 9_000)
    ]
    assert speeds == sorted(speeds, reverse=True)


def test_prefill_multiplies():
    seconds = 2 * sum(p.size for p in LLAMA.products) / 1e11
    seconds += attention_flops(LLAMA.tracks, 500) / 5e10 + 16 * 1e-4 / 512
    made = prefill_tokens_per_s(LLAMA, Parts(SETUP), CEILINGS)
    assert made == pytest.approx(1 / seconds)


def test_a_native_step_pays_for_no_calls():
    core = replace(SETUP, target=Target(has_core=True))
    assert LLAMA.has_native_step
    slow, quick = (
        1 / decode_tokens_per_s(replace(LLAMA, has_native_step=native), Parts(core), CEILINGS)
        for native in (False, True)
    )
    assert slow - quick == pytest.approx(16 * (1e-4 - 1e-5))
    # floats and the layers of a cut model go through torch
    floats = replace(core, precision=Precision.FP32)
    assert not runs_natively(LLAMA, floats)
    assert runs_natively(LLAMA, core)


def test_both_parts_of_a_cut_model_add_up():
    card = replace(SETUP, target=Target(is_cuda=True))
    both = replace(CEILINGS, device="cuda", int8_bytes_per_s=1e12, read_bytes_per_s=1e12,
                   cache_bytes_per_s=1e12, host=CEILINGS)  # fmt: skip
    speeds = [
        decode_tokens_per_s(LLAMA, Parts(card, SETUP, share), both) for share in (0.0, 0.5, 1.0)
    ]
    assert speeds == sorted(speeds, reverse=True)
    times = [1 / speed for speed in speeds]
    assert times[1] == pytest.approx((times[0] + times[2]) / 2)


def test_nothing_is_predicted_for_a_device_that_was_not_measured():
    card = replace(SETUP, target=Target(is_cuda=True))
    assert decode_tokens_per_s(LLAMA, Parts(card), CEILINGS) is None
    assert prefill_tokens_per_s(LLAMA, Parts(card, SETUP, 0.5), CEILINGS) is None


def test_v4_pro_spends_about_a_quarter_of_v3_2_on_a_token():
    # its makers say 27% at a million tokens
    pro, older = (find_blueprint(name) for name in ("deepseek-v4-pro", "deepseek-v3.2"))
    ratio = decode_flops(pro, 1_048_576) / decode_flops(older, 1_048_576)
    assert ratio == pytest.approx(0.27, abs=0.015)


def test_most_of_v3_2_is_its_indexer():
    older = find_blueprint("deepseek-v3.2")
    indexer = 61 * 1_048_576 * 2 * 64 * 128
    assert indexer > 0.9 * attention_flops(older.tracks, 1_048_576)
