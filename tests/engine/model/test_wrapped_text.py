"""The text model's keys and names inside a folder that reads pictures as well."""

import json
from typing import Any

import pytest

from engine.errors import ModelUnsupportedError
from engine.model.hf_config import read_hf_config
from engine.model.wrapped_text import ONLY_TEXT, text_prefix, text_values, wrapped_name

# as Gemma 3 4B is published: most of what the text model needs is left out
GEMMA: dict[str, Any] = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "eos_token_id": [1, 106],
    "image_token_index": 262_144,
    "model_type": "gemma3",
    "text_config": {
        "hidden_size": 2560,
        "intermediate_size": 10_240,
        "model_type": "gemma3_text",
        "num_hidden_layers": 34,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024,
    },
    "vision_config": {"hidden_size": 1152, "model_type": "siglip_vision_model"},
}
QWEN: dict[str, Any] = {
    "model_type": "qwen2_5_vl",
    "vocab_size": 500,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1_000_000.0,
    "max_position_embeddings": 1024,
    "tie_word_embeddings": True,
    "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]},
    "vision_config": {"hidden_size": 32},
}


def read(folder, values: dict[str, Any]):
    (folder / "config.json").write_text(json.dumps(values), "utf-8")
    return read_hf_config(folder)


def test_what_a_publisher_left_out_is_filled_in(tmp_path):
    config = read(tmp_path, GEMMA)
    assert (config.model_type, config.vocab_size) == ("gemma3_text", 262_208)
    assert (config.num_heads, config.num_kv_heads, config.head_dim) == (8, 4, 256)
    assert (config.num_layers, config.sliding_window) == (34, 1024)
    assert config.eos_ids == (1, 106)
    assert config.rope_theta == 1e6
    assert config.rope_scaling is not None
    assert config.notes == (ONLY_TEXT,)


def test_an_older_folder_keeps_the_text_model_among_its_own_keys(tmp_path):
    config = read(tmp_path, QWEN)
    assert (config.model_type, config.num_layers, config.rope_scaling) == ("qwen2", 2, None)
    assert config.tie_word_embeddings
    assert config.notes == (ONLY_TEXT,)


def test_a_plain_folder_stays_as_it_is(tmp_path):
    values = {**QWEN, "model_type": "qwen2", "rope_scaling": None}
    assert text_values(values) == values
    assert read(tmp_path, values).notes == ()


@pytest.mark.parametrize("text_type", ["mpt", 5, None])
def test_other_text_models_are_refused(tmp_path, text_type):
    values = {**GEMMA, "model_type": "llava", "text_config": {"model_type": text_type}}
    with pytest.raises(ModelUnsupportedError) as caught:
        read(tmp_path, values)
    assert str(caught.value).count(".") >= 1


def test_wrappers_that_change_what_text_means_are_refused(tmp_path):
    with pytest.raises(ModelUnsupportedError, match="paligemma"):
        read(tmp_path, {**GEMMA, "model_type": "paligemma"})


@pytest.mark.parametrize(
    ("stored", "prefix", "head"),
    [
        ("model.embed_tokens.weight", "", "lm_head.weight"),
        ("model.language_model.embed_tokens.weight", "model.language_model.", "lm_head.weight"),
        (
            "language_model.model.embed_tokens.weight",
            "language_model.",
            "language_model.lm_head.weight",
        ),
        ("something", "", "lm_head.weight"),
    ],
)
def test_names(stored, prefix, head):
    assert text_prefix({stored, "vision_tower.x"}) == prefix
    assert wrapped_name("lm_head.weight", prefix) == head
