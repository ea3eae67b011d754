"""Qwen3 with a mixture of experts in every layer."""

from dataclasses import replace
from types import MappingProxyType

from engine.model.config import ModelConfig
from engine.model.family import Family, every_layer, with_experts, with_window
from engine.model.fields import Fields


def _describe(config: ModelConfig, fields: Fields) -> ModelConfig:
    if fields.whole("decoder_sparse_step", 1) != 1 or fields.ids("mlp_only_layers"):
        raise fields.unsupported("layers with and without experts")
    config = with_experts(
        replace(config, qk_norm="head"),
        fields,
        fields.whole("moe_intermediate_size"),
        normal=fields.flag("norm_topk_prob", default=True),
    )
    if not fields.flag("use_sliding_window", default=False):
        return config
    return with_window(config, fields, every_layer)


FAMILY = Family(
    ("qwen3_moe",),
    gguf="qwen3moe",
    describe=_describe,
    hf_names=MappingProxyType(
        {
            "router": "mlp.gate.weight",
            "experts.{e}.gate": "mlp.experts.{e}.gate_proj.weight",
            "experts.{e}.up": "mlp.experts.{e}.up_proj.weight",
            "experts.{e}.down": "mlp.experts.{e}.down_proj.weight",
        }
    ),
)
