"""Mixtral: a Mistral with a mixture of experts in every layer."""

from types import MappingProxyType

from engine.model.config import ModelConfig
from engine.model.family import Family, every_layer, with_experts, with_window
from engine.model.fields import Fields


def _describe(config: ModelConfig, fields: Fields) -> ModelConfig:
    config = with_experts(config, fields, config.intermediate_size, normal=True)
    return with_window(config, fields, every_layer)


FAMILY = Family(
    ("mixtral",),
    gguf=None,
    describe=_describe,
    hf_names=MappingProxyType(
        {
            "router": "block_sparse_moe.gate.weight",
            "experts.{e}.gate": "block_sparse_moe.experts.{e}.w1.weight",
            "experts.{e}.up": "block_sparse_moe.experts.{e}.w3.weight",
            "experts.{e}.down": "block_sparse_moe.experts.{e}.w2.weight",
        }
    ),
    is_interleaved=True,
    default_theta=1_000_000.0,
)
