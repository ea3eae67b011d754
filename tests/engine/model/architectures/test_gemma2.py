"""What Gemma's headers leave to their readers."""

import pytest

from engine.model.architectures import gemma2, gemma3
from engine.model.config import ModelConfig
from engine.model.fields import Fields


def _sizes(num_layers: int) -> ModelConfig:
    return ModelConfig(
        model_type="gemma",
        name="tiny",
        vocab_size=61,
        hidden_size=96,
        intermediate_size=48,
        num_layers=num_layers,
        num_heads=4,
        num_kv_heads=2,
        head_dim=8,
        rms_norm_eps=1e-5,
        rope_theta=10000.0,
        max_position_embeddings=512,
    )


@pytest.mark.parametrize(
    ("family", "num_layers", "width"),
    [(gemma2.FAMILY, 26, 8), (gemma2.FAMILY, 46, 24), (gemma3.FAMILY, 62, 24)],
)
def test_the_scale_of_the_scores_of_27b_is_its_own(family, num_layers, width):
    config = family.describe(_sizes(num_layers), Fields({"sliding_window": 16}, "here"))
    assert config.attention_scale == pytest.approx(width**-0.5)


def test_every_second_layer_of_gemma2_and_five_of_six_of_gemma3_slide():
    fields = Fields({"sliding_window": 16}, "here")
    second = gemma2.FAMILY.describe(_sizes(4), fields)
    assert second.sliding_layers == (True, False, True, False)
    third = gemma3.FAMILY.describe(_sizes(12), fields)
    assert [i for i, sliding in enumerate(third.sliding_layers) if not sliding] == [5, 11]
    assert third.local_rope_theta == 10_000.0
