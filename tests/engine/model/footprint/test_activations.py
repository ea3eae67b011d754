"""Working memory grows with what a step holds."""

from dataclasses import replace

from engine.api import KVPrecision, Precision
from engine.model.footprint.activations import activation_bytes, packing_bytes
from engine.model.footprint.setup import Setup
from engine.model.footprint.weights import Target
from engine.planner.find import find_blueprint

SETUP = Setup(Precision.INT8, KVPrecision.FP32, 4_096, 1, Target())
LLAMA = find_blueprint("llama-3.2-1b")


def test_context_streams_and_narrow_caches_cost():
    base = activation_bytes(LLAMA, SETUP)
    assert activation_bytes(LLAMA, replace(SETUP, context=8_192)) > base
    assert activation_bytes(LLAMA, replace(SETUP, streams=8)) - base == 2 * 7 * 128_256 * 4
    assert activation_bytes(LLAMA, replace(SETUP, kv=KVPrecision.INT8)) > base


def test_the_largest_matrix_is_held_in_floats_while_it_is_packed():
    head, gate_up = 128_256 * 2_048 * 4, 2 * 8_192 * 2_048 * 4
    # the head is packed first: the layers then take nothing yet
    assert packing_bytes(LLAMA, 0) == head
    assert packing_bytes(LLAMA, 500_000_000) == head - 500_000_000
    assert packing_bytes(LLAMA, 1_000_000_000) == gate_up
