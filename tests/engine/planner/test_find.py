"""What can be planned for, every shipped configuration, and what is refused with a sentence."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.api import KVPrecision
from engine.errors import (
    EngineError,
    ModelCorruptError,
    ModelMissingError,
    ModelUnsupportedError,
)
from engine.model.footprint.cache import cache_bytes
from engine.planner.find import SHIPPED, find_blueprint, read_config, shipped_names

PROMISED = {
    "deepseek-v3.2", "deepseek-v4-pro", "gemma-2-9b", "gemma-3-270m", "gemma-3-4b",
    "granite-3.3-8b", "llama-13b", "llama-3.1-8b", "llama-3.2-1b", "llama-3.2-3b", "llama-7b",
    "mistral-7b", "mixtral-8x7b", "olmo2-7b", "phi-4", "phi-4-mini", "qwen2.5-7b", "qwen3-30b-a3b",
    "qwen3-8b", "smollm2-1.7b", "smollm2-135m", "smollm3-3b",
}  # fmt: skip


def card(name: str) -> dict:
    return json.loads((SHIPPED / f"{name}.json").read_text("utf-8"))


def config(**changes) -> dict:
    values = {**card("llama-3.2-1b")["config"], **changes}
    return {key: value for key, value in values.items() if value is not None}


def test_the_promised_names_are_shipped():
    assert set(shipped_names()) >= PROMISED


@pytest.mark.parametrize("name", shipped_names())
def test_a_shipped_configuration_has_the_published_size(name):
    blueprint, published = find_blueprint(name), card(name)
    assert blueprint.num_parameters == pytest.approx(published["public_parameters"], rel=0.03)
    if "public_active_parameters" in published:
        # some makers count the looked-up table among them
        active = published["public_active_parameters"]
        assert blueprint.active_parameters == pytest.approx(active, rel=0.1)
    assert blueprint.notes == ()
    assert not blueprint.is_from_weights
    assert sum(t.layers for t in blueprint.tracks) >= blueprint.num_layers


def test_a_folder_and_its_config_say_the_same(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(config()), "utf-8")
    from_folder = find_blueprint(tmp_path)
    assert find_blueprint(tmp_path / "config.json") == from_folder
    assert from_folder.name == tmp_path.name
    assert not from_folder.is_from_weights


def test_weights_that_are_there_must_be_sound(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(config()), "utf-8")
    (tmp_path / "model.safetensors").touch()
    for path in (tmp_path, tmp_path / "model.safetensors"):
        with pytest.raises(ModelCorruptError):
            find_blueprint(path)


def test_a_folder_without_a_config(tmp_path):
    with pytest.raises(ModelMissingError, match=r"no config\.json"):
        find_blueprint(tmp_path)


def test_the_language_part_of_a_larger_model():
    inner = card("gemma-3-4b")["config"]
    outer = {"model_type": "gemma3", "text_config": inner, "vision_config": {"hidden_size": 1}}
    whole, part = read_config(outer, "x", "x"), read_config(inner, "x", "x")
    assert whole.num_parameters == part.num_parameters


@pytest.mark.parametrize("name", ["no-such-model", "", "x" * 5000, "a\0b", "../llama-7b"])
def test_an_unknown_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelMissingError):
        find_blueprint(name or "nothing")


def test_another_kind_of_file(tmp_path):
    path = tmp_path / "weights.bin"
    path.write_bytes(b"x")
    with pytest.raises(ModelUnsupportedError):
        find_blueprint(path)


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "nul", "[" * 100_000, '{"a": ' + "9" * 10_000 + "}", "\ufeff{}"]
)
def test_files_that_are_no_configuration(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ModelCorruptError):
        find_blueprint(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_hidden_layers", 10**9),
        ("num_hidden_layers", 0),
        ("num_hidden_layers", 1.5),
        ("hidden_size", -1),
        ("hidden_size", 10**300),
        ("hidden_size", "large"),
        ("hidden_size", True),
        ("hidden_size", None),
        ("hidden_size", [[1], [1, 2]]),
        ("vocab_size", {"a": 1}),
        ("num_key_value_heads", 7),
        ("num_key_value_heads", 0),
        ("intermediate_size", float("nan")),
        ("max_position_embeddings", 1 << 60),
        ("tie_word_embeddings", "yes"),
        ("model_type", 3),
        ("model_type", None),
        ("head_dim", 0),
        ("sliding_window", -5),
        ("layer_types", ["full_attention"]),
        ("layer_types", [1] * 16),
    ],
)
def test_a_value_no_model_has(key, value):
    with pytest.raises(ModelCorruptError):
        read_config(config(**{key: value}), "x", "x")


def test_layers_of_another_kind():
    kinds = ["full_attention"] * 15 + ["linear_attention"]
    with pytest.raises(ModelUnsupportedError, match="linear_attention"):
        read_config(config(layer_types=kinds), "x", "x")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("compress_ratios", [4] * 60),
        ("compress_ratios", None),
        ("o_groups", 7),
        ("n_routed_experts", 1 << 40),
        ("num_experts_per_tok", 0),
        ("n_shared_experts", -1),
        ("index_topk", 0),
    ],
)
def test_a_value_no_deepseek_has(key, value):
    values = {**card("deepseek-v4-pro")["config"], key: value}
    with pytest.raises(ModelCorruptError):
        read_config(values, "x", "x")


def test_a_compression_nobody_knows():
    values = {**card("deepseek-v4-pro")["config"], "compress_ratios": [16] * 61}
    with pytest.raises(ModelUnsupportedError, match="compressed by 16"):
        read_config(values, "x", "x")


def test_layers_named_by_kind_are_those_named_by_ratio():
    values = card("deepseek-v4-pro")["config"]
    kinds = {4: "compressed_sparse_attention", 128: "heavily_compressed_attention"}
    named = {k: v for k, v in values.items() if k != "compress_ratios"}
    named["layer_types"] = [kinds[ratio] for ratio in values["compress_ratios"]]
    assert read_config(named, "x", "x") == read_config(values, "x", "x")


def test_an_architecture_nobody_knows_is_counted_and_said():
    blueprint = read_config(config(model_type="brand_new"), "x", "x")
    assert blueprint.num_parameters == read_config(config(), "x", "x").num_parameters
    assert "brand_new" in blueprint.notes[0]


def test_a_window_in_every_layer():
    (track,) = read_config(config(model_type="mistral", sliding_window=4096), "x", "x").tracks
    assert track.capacity == 4096


def test_a_window_that_is_switched_off():
    values = config(model_type="qwen2", sliding_window=4096, use_sliding_window=False)
    (track,) = read_config(values, "x", "x").tracks
    assert track.capacity is None


def test_biases_are_counted():
    plain = read_config(config(), "x", "x")
    qwen = read_config(config(model_type="qwen2"), "x", "x")
    assert qwen.num_parameters - plain.num_parameters == 16 * (32 + 2 * 8) * 64


def test_some_layers_without_experts():
    values = card("qwen3-30b-a3b")["config"]
    fewer = read_config({**values, "mlp_only_layers": [0, 1]}, "x", "x")
    assert fewer.num_parameters < read_config(values, "x", "x").num_parameters


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(name=st.sampled_from(["llama-3.2-1b", "gemma-3-270m", "mixtral-8x7b", "deepseek-v3.2",
                             "deepseek-v4-pro"]), data=st.data())  # fmt: skip
def test_no_value_crashes_the_planner(name, data):
    values = dict(card(name)["config"])
    key = data.draw(st.sampled_from(sorted(values)))
    values[key] = data.draw(_JSON)
    try:
        blueprint = read_config(values, "x", "x")
    except EngineError:
        return  # said in a sentence
    assert blueprint.num_parameters > 0
    assert cache_bytes(blueprint.tracks, 1000, KVPrecision.INT4) >= 0


def test_shipped_files_are_where_resources_are():
    assert Path(__file__).parents[3] / "resources" / "models" == SHIPPED
