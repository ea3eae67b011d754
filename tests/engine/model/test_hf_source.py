"""Folders of config.json and safetensors as sources."""

import json

import pytest
import safetensors.torch
import torch

from engine.errors import ModelCorruptError, ModelMissingError, ModelUnsupportedError
from engine.model.hf_config import read_hf_config
from engine.model.hf_source import HfSource
from tests.helpers.state_dict_source import random_state_dict

CONFIG = {
    "model_type": "llama",
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10_000.0,
    "max_position_embeddings": 256,
    "tie_word_embeddings": False,
    "eos_token_id": 2,
    "bos_token_id": 1,
}


def write_config(folder, **changes):
    values = {**CONFIG, **changes}
    (folder / "config.json").write_text(json.dumps(values))
    return folder


@pytest.fixture
def folder(tmp_path):
    write_config(tmp_path)
    tensors = random_state_dict(read_hf_config(tmp_path))
    safetensors.torch.save_file(tensors, tmp_path / "model.safetensors")
    return tmp_path


def test_parameters(folder):
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    source = HfSource.open(folder)
    q = source.weight("layers.1.q").dequantize()
    assert torch.equal(q, tensors["model.layers.1.self_attn.q_proj.weight"])
    assert torch.equal(source.weight("head").dequantize(), tensors["lm_head.weight"])
    assert torch.equal(source.vector("norm"), tensors["model.norm.weight"])
    assert source.bytes_read == (64 * 64 + 128 * 64 + 64) * 4
    assert not source.is_four_bit
    source.close()


def test_missing_tensor(folder):
    write_config(folder, num_hidden_layers=3)
    with pytest.raises(ModelCorruptError, match=r"model.layers.2\S+ is missing"):
        HfSource.open(folder)


def test_no_config(tmp_path):
    with pytest.raises(ModelMissingError, match=r"config\.json"):
        HfSource.open(tmp_path)


def test_end_tokens_of_both_files(tmp_path):
    write_config(tmp_path)
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [2, 7]}')
    assert read_hf_config(tmp_path).eos_ids == (2, 7)


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
def test_llama3_scaling(tmp_path, key):
    section = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    if key == "rope_parameters":
        section["rope_theta"] = 500_000.0
    config = read_hf_config(write_config(tmp_path, **{key: section}))
    assert config.rope_scaling is not None
    assert config.rope_scaling.factor == 8
    assert config.rope_scaling.original_max_position == 8192
    assert config.rope_theta == (500_000 if key == "rope_parameters" else 10_000)


def test_default_rope_parameters(tmp_path):
    section = {"rope_type": "default", "rope_theta": 5.0}
    config = read_hf_config(write_config(tmp_path, rope_parameters=section))
    assert config.rope_scaling is None
    assert config.rope_theta == 5


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model_type": "mamba"}, "mamba"),
        ({"hidden_act": "relu"}, "relu"),
        ({"rope_scaling": {"rope_type": "magic"}}, "magic"),
    ],
)
def test_unsupported(tmp_path, changes, named):
    with pytest.raises(ModelUnsupportedError, match=named):
        read_hf_config(write_config(tmp_path, **changes))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"hidden_size": None}, "hidden_size"),
        ({"hidden_size": "64"}, "hidden_size"),
        ({"hidden_size": True}, "hidden_size"),
        ({"num_hidden_layers": -1}, "num_layers"),
        ({"num_attention_heads": 0}, "num_heads"),
        ({"rms_norm_eps": 0.0}, "rms_norm_eps"),
        ({"eos_token_id": "2"}, "eos_token_id"),
        ({"eos_token_id": [1, 4000]}, "4000"),
        ({"rope_scaling": 5}, "rope_scaling"),
    ],
)
def test_impossible_values_name_the_key(tmp_path, changes, named):
    with pytest.raises(ModelCorruptError, match=named):
        read_hf_config(write_config(tmp_path, **changes))
