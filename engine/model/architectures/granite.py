"""Granite: a Llama with a multiplier on the embedding, the scores, each block and the logits."""

from dataclasses import replace

from engine.model.config import ModelConfig
from engine.model.family import Family
from engine.model.fields import Fields


def _describe(config: ModelConfig, fields: Fields) -> ModelConfig:
    divisor = fields.real("logits_scaling", 1.0)
    if divisor == 0:
        raise fields.unsupported("a logits_scaling of 0")
    return replace(
        config,
        embedding_scale=fields.real("embedding_multiplier", 1.0),
        attention_scale=fields.real("attention_multiplier", 0.0),
        residual_scale=fields.real("residual_multiplier", 1.0),
        logit_scale=1.0 / divisor,
    )


FAMILY = Family(("granite",), gguf="granite", describe=_describe, is_interleaved=True)
