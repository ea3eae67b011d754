"""What config.json says of a DeepSeek-V4, in both spellings."""

import pytest

from engine.errors import ModelCorruptError, ModelMissingError, ModelUnsupportedError
from engine.model.architectures.deepseek_v4.config import Kind, is_v4, read_v4_config
from tests.helpers.hf_folders import write_json
from tests.helpers.v4_models import PUBLISHED, v4_config

ROPE = {"rope_type": "default", "rope_theta": 5.0}


def test_published_keys():
    config = v4_config()
    assert config.kinds == (Kind.HCA, Kind.HCA, Kind.CSA, Kind.SLIDING, Kind.CSA)
    assert config.is_hashed == (True, True, False, False, False)
    assert (config.compression.csa_layers, config.compression.hca_layers) == (2, 2)
    assert (config.compression.csa_stride, config.compression.hca_stride) == (4, 128)
    assert config.compression.block_size == 128
    assert config.compress_scaling.factor == 16
    assert config.compress_scaling.attention_factor == 1.0
    assert (config.base.rope_theta, config.compress_theta) == (10_000, 160_000)
    assert config.base.rope_scaling is None
    assert config.rotary_dim == 8


def test_keys_of_transformers():
    config = v4_config(
        compress_ratios=None,
        layer_types=["sliding_attention"] * 4 + ["heavily_compressed_attention"],
        num_hash_layers=None,
        mlp_layer_types=["moe"] * 4 + ["hash_moe"],
        qk_rope_head_dim=None,
        partial_rotary_factor=0.5,
        rope_scaling=None,
        rope_parameters={"main": ROPE, "compress": {**ROPE, "rope_theta": 7.0}},
    )
    assert config.kinds[4] is Kind.HCA
    assert config.is_hashed == (False, False, False, False, True)
    assert (config.base.rope_theta, config.compress_theta) == (5.0, 7.0)
    assert config.compress_scaling is None
    assert config.rotary_dim == 16


@pytest.mark.parametrize(
    "changes",
    [
        {"num_key_value_heads": 2},
        {"n_shared_experts": 2},
        {"norm_topk_prob": False},
        {"hidden_act": "relu"},
        {"attention_bias": True},
        {"compress_ratios": [16] * 5},
        {"scoring_func": "softmax"},
        {"rope_scaling": {"type": "longrope"}},
        {"compress_ratios": None, "layer_types": ["full_attention"] * 5},
        {"mlp_layer_types": ["dense"] * 5},
    ],
    ids=str,
)
def test_variants_that_do_not_run(changes):
    with pytest.raises(ModelUnsupportedError):
        v4_config(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"o_groups": 3},
        {"qk_rope_head_dim": 18},
        {"qk_rope_head_dim": 7},
        {"compress_ratios": [4]},
        {"index_topk": 0},
        {"swiglu_limit": -1.0},
        {"num_experts_per_tok": 9},
        {"q_lora_rank": "wide"},
        {"rope_scaling": {"type": "yarn", "factor": 0.0, "original_max_position_embeddings": 64}},
    ],
    ids=str,
)
def test_values_that_cannot_be(changes):
    with pytest.raises(ModelCorruptError):
        v4_config(**changes)


def test_a_folder(tmp_path):
    assert not is_v4(tmp_path)
    with pytest.raises(ModelMissingError):
        read_v4_config(tmp_path)
    write_json(tmp_path / "config.json", PUBLISHED)
    assert is_v4(tmp_path)
    assert read_v4_config(tmp_path).base.name == tmp_path.name
