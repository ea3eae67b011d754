"""Qwen3 with a mixture of experts in every layer, or in every so many of them."""

from dataclasses import replace
from types import MappingProxyType

from engine.model.config import ModelConfig
from engine.model.family import Family, every_layer, with_experts, with_window
from engine.model.fields import Fields


def _describe(config: ModelConfig, fields: Fields) -> ModelConfig:
    config = with_experts(
        replace(config, qk_norm="head", dense_layers=_dense_layers(config, fields)),
        fields,
        fields.whole("moe_intermediate_size"),
        normal=fields.flag("norm_topk_prob", default=True),
    )
    if not fields.flag("use_sliding_window", default=False):
        return config
    return with_window(config, fields, every_layer)


def _dense_layers(config: ModelConfig, fields: Fields) -> tuple[bool, ...]:
    """The layers config.json names, and all but each ``decoder_sparse_step``-th; empty for none."""
    step = fields.whole("decoder_sparse_step", 1)
    if step < 1:
        raise fields.unsupported(f"experts in every {step}th layer")
    named = set(fields.ids("mlp_only_layers"))
    marks = tuple(i in named or (i + 1) % step != 0 for i in range(config.num_layers))
    return marks if any(marks) else ()


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
