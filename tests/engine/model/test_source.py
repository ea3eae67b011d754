"""Where parameters lie in a checkpoint's tensors."""

from dataclasses import replace

import pytest

from engine.errors import ModelCorruptError
from engine.model.architectures import olmo2, phi3, qwen3_moe
from engine.model.config import ExpertConfig, ModelConfig
from engine.model.gguf_config import gguf_names
from engine.model.hf_config import hf_names
from engine.model.source import Place, find_places, present_shapes, required_shapes

CONFIG = ModelConfig(
    model_type="phi3",
    name="tiny",
    vocab_size=61,
    hidden_size=32,
    intermediate_size=48,
    num_layers=1,
    num_heads=4,
    num_kv_heads=2,
    head_dim=8,
    rms_norm_eps=1e-5,
    rope_theta=10000.0,
    max_position_embeddings=512,
)
STORED = {
    "model.embed_tokens.weight": (61, 32),
    "model.norm.weight": (32,),
    "lm_head.weight": (61, 32),
    "model.layers.0.input_layernorm.weight": (32,),
    "model.layers.0.post_attention_layernorm.weight": (32,),
    "model.layers.0.self_attn.qkv_proj.weight": (64, 32),
    "model.layers.0.self_attn.o_proj.weight": (32, 32),
    "model.layers.0.mlp.gate_up_proj.weight": (96, 32),
    "model.layers.0.mlp.down_proj.weight": (32, 48),
}


def test_parameters_of_one_tensor_lie_one_after_the_other():
    names = hf_names(CONFIG, phi3.FAMILY)
    places = find_places(CONFIG, names, STORED, "here")
    fused = "model.layers.0.self_attn.qkv_proj.weight"
    assert places["layers.0.q"] == Place(fused, 0, 32, 64)
    assert places["layers.0.k"] == Place(fused, 32, 16, 64)
    assert places["layers.0.v"] == Place(fused, 48, 16, 64)
    assert places["layers.0.up"].first == 48
    assert places["embed"] == Place("model.embed_tokens.weight", 0, 61, 61)
    assert "layers.0.q_bias" not in places
    assert present_shapes(CONFIG, places) == required_shapes(CONFIG)


def test_a_fused_tensor_of_another_size_is_named():
    stored = STORED | {"model.layers.0.self_attn.qkv_proj.weight": (72, 32)}
    with pytest.raises(ModelCorruptError, match=r"qkv_proj\S+ has shape \[72, 32\], not \[64, 32"):
        find_places(CONFIG, hf_names(CONFIG, phi3.FAMILY), stored, "here")


def test_a_missing_fused_tensor_is_named():
    stored = {name: shape for name, shape in STORED.items() if "gate_up" not in name}
    with pytest.raises(ModelCorruptError, match=r"gate_up_proj.weight is missing"):
        find_places(CONFIG, hf_names(CONFIG, phi3.FAMILY), stored, "here")


def test_experts_are_rows_of_a_stack():
    config = replace(CONFIG, qk_norm="head", experts=ExpertConfig(4, 2, 16))
    names = gguf_names(config, qwen3_moe.FAMILY)
    stored = {names[name]: shape for name, shape in required_shapes(config).items()}
    stored |= {f"blk.0.ffn_{part}_exps.weight": (4, 16, 32) for part in ("gate", "up")}
    stored["blk.0.ffn_down_exps.weight"] = (4, 32, 16)
    places = find_places(config, names, stored, "here")
    assert places["layers.0.experts.2.up"] == Place("blk.0.ffn_up_exps.weight", 32, 16, 64)
    assert places["layers.0.experts.3.down"] == Place("blk.0.ffn_down_exps.weight", 96, 32, 128)


def test_experts_of_an_older_file_are_tensors():
    config = replace(CONFIG, qk_norm="head", experts=ExpertConfig(4, 2, 16))
    names = gguf_names(config, qwen3_moe.FAMILY, {"blk.0.ffn_down.0.weight"})
    assert names["layers.0.experts.3.down"] == "blk.0.ffn_down.3.weight"
    stored = {names[name]: shape for name, shape in required_shapes(config).items()}
    places = find_places(config, names, stored, "here")
    assert places["layers.0.experts.2.up"] == Place("blk.0.ffn_up.2.weight", 0, 16, 16)


def test_some_layers_may_do_without_experts():
    config = replace(
        CONFIG, num_layers=2, experts=ExpertConfig(4, 2, 16), dense_layers=(True, False)
    )
    shapes = required_shapes(config)
    assert shapes["layers.0.gate"] == (CONFIG.intermediate_size, 32)
    assert "layers.0.router" not in shapes
    assert shapes["layers.1.experts.0.gate"] == (16, 32)
    assert "layers.1.gate" not in shapes


def test_norms_are_those_of_the_family():
    config = replace(CONFIG, norms="after", qk_norm="projection")
    shapes = required_shapes(config)
    assert "layers.0.attention_norm" not in shapes
    assert shapes["layers.0.post_ffn_norm"] == (32,)
    assert shapes["layers.0.k_norm"] == (16,)
    names = hf_names(config, olmo2.FAMILY)
    assert names["layers.0.post_ffn_norm"].endswith("post_feedforward_layernorm.weight")
