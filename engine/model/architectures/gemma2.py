"""Gemma 2: norms around each block, soft-capped scores and logits, every other layer slides.

Norm weights are kept less 1 in safetensors files and as they are in GGUF files.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from engine.model.config import ModelConfig
from engine.model.family import Family, with_window
from engine.model.fields import Fields

HF_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "post_attention_norm": "post_attention_layernorm.weight",
        "ffn_norm": "pre_feedforward_layernorm.weight",
        "post_ffn_norm": "post_feedforward_layernorm.weight",
    }
)
_LAYERS_OF_27B = 46


def as_gemma(config: ModelConfig, fields: Fields, layers_of_27b: int) -> ModelConfig:
    """Add what Gemma 2 and 3 share.

    A GGUF file does not hold the scale of the scores: all models take the head's size, but those
    of 27B hidden_size / heads.
    """
    is_27b = config.num_layers == layers_of_27b
    usual = config.hidden_size // config.num_heads if is_27b else config.head_dim
    return replace(
        config,
        norms="both",
        activation="gelu_tanh",
        embedding_scale=math.sqrt(config.hidden_size),
        attention_scale=fields.real("query_pre_attn_scalar", usual) ** -0.5,
        attention_softcap=fields.real("attn_logit_softcapping", 0.0),
        logit_softcap=fields.real("final_logit_softcapping", 0.0),
    )


def _is_sliding(layer: int) -> bool:
    return layer % 2 == 0


def _describe(config: ModelConfig, fields: Fields) -> ModelConfig:
    return with_window(as_gemma(config, fields, _LAYERS_OF_27B), fields, _is_sliding)


FAMILY = Family(
    ("gemma2",),
    gguf="gemma2",
    describe=_describe,
    hf_names=HF_NAMES,
    hf_norms_add_one=True,
    is_tied=True,
)
