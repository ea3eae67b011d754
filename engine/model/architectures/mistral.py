"""Mistral: a Llama whose layers may all see a sliding window.

Converted to GGUF it is a "llama" without a window, as its readers run it.
"""

from engine.model.config import ModelConfig
from engine.model.family import Family, every_layer, with_window
from engine.model.fields import Fields


def _describe(config: ModelConfig, fields: Fields) -> ModelConfig:
    return with_window(config, fields, every_layer)


FAMILY = Family(("mistral",), gguf=None, describe=_describe, is_interleaved=True)
