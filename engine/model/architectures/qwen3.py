"""Qwen3: a norm on each head of q and k, heads wider than hidden_size / heads, no biases."""

from dataclasses import replace

from engine.model.architectures.qwen2 import with_upper_window
from engine.model.config import ModelConfig
from engine.model.family import Family
from engine.model.fields import Fields


def _describe(config: ModelConfig, fields: Fields) -> ModelConfig:
    return with_upper_window(replace(config, qk_norm="head"), fields)


FAMILY = Family(("qwen3",), gguf="qwen3", describe=_describe)
