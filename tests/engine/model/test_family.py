"""Windows and names, as families declare them; unknown families are told apart."""

import pytest

from engine.errors import ModelCorruptError, ModelUnsupportedError
from engine.model.architectures import FAMILIES, find_family, find_gguf_family
from engine.model.config import ModelConfig
from engine.model.family import every_layer, layer_names, with_experts, with_window
from engine.model.fields import Fields

CONFIG = ModelConfig(
    model_type="llama",
    name="tiny",
    vocab_size=61,
    hidden_size=32,
    intermediate_size=48,
    num_layers=2,
    num_heads=4,
    num_kv_heads=2,
    head_dim=8,
    rms_norm_eps=1e-5,
    rope_theta=10000.0,
    max_position_embeddings=512,
)


def test_names_are_unique_and_found():
    types = [name for family in FAMILIES for name in family.model_types]
    assert len(set(types)) == len(types)
    for family in FAMILIES:
        assert find_family(family.model_type) is family
        if family.gguf is not None:
            assert find_gguf_family(family.gguf) is family
    assert find_family("mamba") is None
    assert find_gguf_family("mamba") is None
    mixtral = find_gguf_family("llama", has_experts=True)
    assert mixtral is not None
    assert mixtral.model_type == "mixtral"


def test_layer_types_go_before_the_pattern():
    kinds = ["full_attention", "sliding_attention"]
    fields = Fields({"sliding_window": 16, "layer_types": kinds}, "here")
    assert with_window(CONFIG, fields, every_layer).sliding_layers == (False, True)
    fields = Fields({"sliding_window": 16}, "here")
    assert with_window(CONFIG, fields, every_layer).sliding_layers == (True, True)


@pytest.mark.parametrize("window", [None, 0, 512, 4096])
def test_a_window_that_hides_nothing_is_none(window):
    assert with_window(CONFIG, Fields({"sliding_window": window}, "here"), every_layer) is CONFIG


def test_unknown_kinds_of_layers_are_refused():
    fields = Fields({"sliding_window": 16, "layer_types": ["chunked_attention"] * 2}, "here")
    with pytest.raises(ModelUnsupportedError, match="chunked_attention"):
        with_window(CONFIG, fields, every_layer)


def test_experts_under_either_name():
    for key in ("num_experts", "num_local_experts"):
        fields = Fields({key: 8, "num_experts_per_tok": 2}, "here")
        experts = with_experts(CONFIG, fields, 16, normal=True).experts
        assert experts is not None
        assert (experts.count, experts.per_token, experts.intermediate_size) == (8, 2, 16)
        names = layer_names(
            with_experts(CONFIG, fields, 16, normal=True), {"x.{e}.up": "e{e}.w"}, "l{i}."
        )
        assert len(names) == 16
        assert names["layers.1.x.7.up"] == "l1.e7.w"
    with pytest.raises(ModelCorruptError, match="num_experts"):
        with_experts(CONFIG, Fields({}, "here"), 16, normal=True)
