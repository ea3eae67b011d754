"""Gemma 3, its text part: as Gemma 2 with a norm on q and k in place of the soft-capping.

Five of six layers slide and rotate by a theta of their own.
"""

from dataclasses import replace

from engine.model.architectures.gemma2 import HF_NAMES, as_gemma
from engine.model.config import ModelConfig
from engine.model.family import Family, with_window
from engine.model.fields import Fields

_LAYERS_OF_27B = 62
_PATTERN = 6
_LOCAL_THETA = 10_000.0


def _describe(config: ModelConfig, fields: Fields) -> ModelConfig:
    if fields.flag("use_bidirectional_attention", default=False):
        raise fields.unsupported("attention in both directions")
    pattern = fields.whole("sliding_window_pattern", _PATTERN)

    def is_sliding(layer: int) -> bool:
        return pattern <= 0 or (layer + 1) % pattern != 0

    config = replace(
        as_gemma(config, fields, _LAYERS_OF_27B),
        qk_norm="head",
        local_rope_theta=_local_theta(fields),
    )
    sliding = with_window(config, fields, is_sliding)
    if sliding.sliding_layers:
        return sliding
    # the window is as long as the context, but the layers keep their theta
    return replace(
        config,
        sliding_window=config.max_position_embeddings,
        sliding_layers=tuple(is_sliding(layer) for layer in range(config.num_layers)),
    )


def _local_theta(fields: Fields) -> float:
    """In ``rope_parameters``, by kind of layer, or in a key of its own."""
    usual = fields.real("rope_local_base_freq", _LOCAL_THETA)
    section = fields.section("rope_parameters")
    local = section.section("sliding_attention") if section else None
    return local.real("rope_theta", usual) if local else usual


FAMILY = Family(
    ("gemma3_text",),
    gguf="gemma3",
    describe=_describe,
    hf_names=HF_NAMES,
    hf_norms_add_one=True,
    default_theta=1_000_000.0,
    is_tied=True,
)
