"""What is planned for architectures without a native decoder, against what transformers' classes take.

Both counts are held to it: the loader's own, from the opened folder, and the planner's, which knows
the headers alone and imports no transformers.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pytest
import torch

from engine.api import Device, KVPrecision, Precision
from engine.model.compat.decoder import CompatDecoder
from engine.model.compat.dispatch import DevicePlan
from engine.model.compat.source import CompatSource
from engine.model.footprint.cache import cache_bytes
from engine.model.footprint.checkpoint import blueprint_of
from engine.model.footprint.target import target_of
from engine.model.footprint.weights import allocated_bytes
from engine.planner.find import find_blueprint
from tests.helpers.compat_folders import random_model
from tests.helpers.decoding import CPU, ignore_progress, never

pytestmark = pytest.mark.oracle

SIZES = {"vocab_size": 320, "hidden_size": 96, "intermediate_size": 192, "num_attention_heads": 6}
CASES: Mapping[str, Mapping[str, Any]] = {
    "gpt_neox": {"num_key_value_heads": 6},
    "stablelm": {},
    "cohere2": {"sliding_window": 16, "layer_types": None, "head_dim": 16},
    "starcoder2": {"sliding_window": 16},
    "olmoe": {"num_experts": 8, "num_experts_per_tok": 2},
}


@pytest.mark.parametrize("precision", [Precision.INT8, Precision.FP32])
@pytest.mark.parametrize("model_type", CASES)
def test_weights_and_cache_are_what_is_taken(tmp_path, model_type, precision):
    random_model(model_type, {**SIZES, **CASES[model_type]}).save_pretrained(tmp_path)
    with closing(CompatSource.open(tmp_path)) as source:
        opened, config = blueprint_of(source), source.config
        decoder = CompatDecoder.build(
            source, precision, torch.float32, DevicePlan(CPU), ignore_progress, never
        )
    header = find_blueprint(tmp_path)
    for blueprint in (opened, header):
        planned = allocated_bytes(blueprint, precision, target_of(Device.CPU))
        assert planned == pytest.approx(decoder.weights_bytes, rel=0.05)
    taken = 2 * config.num_layers * config.num_kv_heads * config.head_dim * 4
    assert cache_bytes(header.tracks, 1, KVPrecision.FP32) == taken
    assert cache_bytes(opened.tracks, 1, KVPrecision.FP32) == taken
    assert not header.has_native_step
    assert "unknown architecture" in header.notes[0]
