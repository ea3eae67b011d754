"""Shapes a model cannot have."""

from dataclasses import replace

import pytest

from engine.errors import ModelCorruptError
from engine.model.config import ExpertConfig, ModelConfig, RopeScaling, check_config

CONFIG = ModelConfig(
    model_type="llama",
    name="tiny",
    vocab_size=61,
    hidden_size=32,
    intermediate_size=48,
    num_layers=3,
    num_heads=4,
    num_kv_heads=2,
    head_dim=8,
    rms_norm_eps=1e-5,
    rope_theta=10000.0,
    max_position_embeddings=512,
)


def test_a_sound_shape_passes() -> None:
    config = replace(
        CONFIG,
        rotary_dim=4,
        rope_scaling=RopeScaling("factors", freq_factors=(1.0, 2.0)),
        sliding_window=16,
        sliding_layers=(True, False, True),
        unrotated_layers=(False, True, False),
        experts=ExpertConfig(4, 2, 16),
    )
    assert check_config(config, "here") is config
    assert [config.is_sliding(layer) for layer in range(3)] == [True, False, True]
    assert [config.is_rotated(layer) for layer in range(3)] == [True, False, True]
    assert not CONFIG.is_sliding(2)
    assert CONFIG.is_rotated(2)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rotary_dim": 3}, "3 of 8"),
        ({"rotary_dim": 10}, "10 of 8"),
        ({"rope_scaling": RopeScaling("linear", factor=0.0)}, "positive"),
        ({"rope_scaling": RopeScaling("yarn", factor=2.0)}, "original context"),
        ({"rope_scaling": RopeScaling("factors", freq_factors=(1.0,))}, "1 rope factors, not 4"),
        (
            {"rope_scaling": RopeScaling("longrope", 2.0, 64, short_factors=(1.0,) * 4)},
            "0 rope factors",
        ),
        ({"sliding_layers": (True,), "sliding_window": 4}, "1 layers, not 3"),
        ({"sliding_layers": (True,) * 3}, "sliding_window is 0"),
        ({"unrotated_layers": (True,) * 4}, "4 layers, not 3"),
        ({"local_rope_theta": -1.0}, "theta"),
        ({"experts": ExpertConfig(4, 5, 16)}, "5 of 4 experts"),
        ({"experts": ExpertConfig(4, 2, 0)}, "size 0"),
    ],
)
def test_impossible_shapes_are_named(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(ModelCorruptError, match=reason):
        check_config(replace(CONFIG, **changes), "here")
