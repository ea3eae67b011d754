"""OLMo 2: norms after each block and none before, q and k normalised over all heads together."""

from dataclasses import replace
from types import MappingProxyType

from engine.model.config import ModelConfig
from engine.model.family import Family
from engine.model.fields import Fields


def _describe(config: ModelConfig, fields: Fields) -> ModelConfig:
    del fields
    return replace(config, norms="after", qk_norm="projection")


FAMILY = Family(
    ("olmo2",),
    gguf="olmo2",
    describe=_describe,
    hf_names=MappingProxyType(
        {
            "post_attention_norm": "post_attention_layernorm.weight",
            "post_ffn_norm": "post_feedforward_layernorm.weight",
        }
    ),
)
