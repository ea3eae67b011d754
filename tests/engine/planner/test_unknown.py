"""Architectures nobody knows: real tensors, and the cache by what the configuration says."""

import math

import pytest
import torch

from engine.api import KVPrecision, Precision
from engine.errors import ModelCorruptError
from engine.model.footprint.cache import cache_bytes
from engine.model.footprint.weights import Target, allocated_bytes
from engine.planner.find import find_blueprint
from engine.planner.header import HeaderFields
from engine.planner.unknown import cache_tracks
from tests.helpers.hf_folders import write_json, write_weights

CONFIG = {
    "model_type": "brand_new",
    "vocab_size": 100,
    "n_embd": 64,
    "n_layer": 3,
    "n_head": 4,
    "num_experts": 4,
    "num_experts_per_tok": 2,
}
SHAPES = {
    "wte.weight": (100, 64),
    "h.{i}.attn.qkv.weight": (192, 64),
    "h.{i}.attn.out.weight": (64, 64),
    "h.{i}.mlp.experts.{e}.up.weight": (96, 64),
    "h.{i}.norm.weight": (64,),
    "norm.weight": (64,),
    "vision_tower.blocks.0.weight": (640, 640),
}


def tensors():
    found = {}
    for name, shape in SHAPES.items():
        layers = range(3) if "{i}" in name else [0]
        experts = range(4) if "{e}" in name else [0]
        for layer in layers:
            for expert in experts:
                full = name.replace("{i}", str(layer)).replace("{e}", str(expert))
                found[full] = torch.zeros(shape, dtype=torch.bfloat16)
    return found


@pytest.fixture
def folder(tmp_path):
    write_json(tmp_path / "config.json", CONFIG)
    write_weights(tmp_path, tensors())
    return tmp_path


def test_real_tensors_are_counted_without_the_pictures_part(folder):
    blueprint = find_blueprint(folder)
    text = {n: t for n, t in tensors().items() if "vision" not in n}
    assert blueprint.num_parameters == sum(math.prod(t.shape) for t in text.values())
    assert blueprint.notes == ("~ estimate: unknown architecture 'brand_new'",)
    assert blueprint.is_from_weights
    assert blueprint.head is None
    assert not blueprint.has_native_step
    (experts,) = {(p.copies, p.active) for p in blueprint.products if p.copies > 1}
    assert experts == (4, 2)
    planned = allocated_bytes(blueprint, Precision.BF16, Target(has_native_bf16=True))
    assert planned == 2 * blueprint.num_parameters


def test_a_head_of_its_own(folder):
    write_weights(folder, {**tensors(), "lm_head.weight": torch.zeros(100, 64)})
    assert find_blueprint(folder).head is not None


def test_experts_in_one_tensor(folder):
    stacked = {f"h.{i}.mlp.stack.weight": torch.zeros(4, 96, 64) for i in range(3)}
    apart = {n: t for n, t in tensors().items() if "experts" not in n}
    write_weights(folder, apart | stacked)
    products = [p for p in find_blueprint(folder).products if p.copies > 1]
    assert {(p.rows, p.columns, p.copies, p.active) for p in products} == {(96, 64, 4, 2)}
    assert [p.layer for p in products] == [0, 1, 2]


def test_a_wrapper_is_looked_into(folder):
    outer = {"model_type": "sees_things", "text_config": CONFIG, "vision_config": {}}
    write_json(folder / "config.json", outer)
    assert find_blueprint(folder).hidden_size == 64


@pytest.mark.parametrize("key", ["n_layer", "vocab_size", "n_embd"])
def test_what_must_be_said(folder, key):
    values = {k: v for k, v in CONFIG.items() if k != key}
    write_json(folder / "config.json", values)
    with pytest.raises(ModelCorruptError):
        find_blueprint(folder)


def token_bytes(context=1, **changes):
    """Bytes of a cache of ``context`` tokens in FP32."""
    values = {"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, **changes}
    fields = HeaderFields({k: v for k, v in values.items() if v is not None}, "x")
    return cache_bytes(cache_tracks(fields), context, KVPrecision.FP32)


HEAD = 2 * 16 * 4  # K and V of one head of 16 values
HALF = ["full_attention", "linear_attention"] * 3


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 6 * 4 * HEAD),
        ({"num_key_value_heads": 2}, 6 * 2 * HEAD),
        ({"multi_query": True}, 6 * HEAD),
        ({"head_dim": 32}, 6 * 4 * 2 * HEAD),
        ({"kv_lora_rank": 24, "qk_rope_head_dim": 8}, 6 * 32 * 4),
        ({"layer_types": HALF}, 3 * 4 * HEAD),
        ({"layers_block_type": ["mamba"] * 5 + ["attention"]}, 4 * HEAD),
        ({"hybrid_override_pattern": "M-*M-*"}, 2 * 4 * HEAD),
        ({"attn_layer_indices": [1, 4]}, 2 * 4 * HEAD),
        ({"attn_layer_period": 3, "attn_layer_offset": 1}, 2 * 4 * HEAD),
        ({"num_attention_heads": None}, 0),
    ],
)
def test_the_cache_is_what_the_fields_say(changes, expected):
    assert token_bytes(**changes) == expected


def test_windows_and_chunks_end():
    kinds = ["sliding_attention"] * 2 + ["chunked_attention"] * 3 + ["full_attention"]
    changes = {"layer_types": kinds, "sliding_window": 8, "attention_chunk_size": 16}
    assert token_bytes(64, **changes) == (2 * 8 + 3 * 16 + 64) * 4 * HEAD
    assert token_bytes(64, sliding_window=8) == 6 * 8 * 4 * HEAD
    assert token_bytes(64, sliding_window=8, use_sliding_window=False) == 6 * 64 * 4 * HEAD
