"""Phi-3 and Phi-4: a Llama with q, k, v in one tensor of the file, and gate and up in another."""

from collections.abc import Mapping
from types import MappingProxyType

from engine.model.config import ModelConfig
from engine.model.family import Family, every_layer, with_window
from engine.model.fields import Fields


def _describe(config: ModelConfig, fields: Fields) -> ModelConfig:
    return with_window(config, fields, every_layer)


def _fused(qkv: str, gate_up: str) -> Mapping[str, str]:
    return MappingProxyType(dict.fromkeys("qkv", qkv) | dict.fromkeys(("gate", "up"), gate_up))


FAMILY = Family(
    ("phi3",),
    gguf="phi3",
    describe=_describe,
    hf_names=_fused("self_attn.qkv_proj.weight", "mlp.gate_up_proj.weight"),
    gguf_names=_fused("attn_qkv.weight", "ffn_up.weight"),
)
