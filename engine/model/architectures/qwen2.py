"""Qwen2 and Qwen2.5: biases on q, k and v; a sliding window in the upper layers if it is on."""

from engine.model.config import ModelConfig
from engine.model.family import Family, with_window
from engine.model.fields import Fields


def with_upper_window(config: ModelConfig, fields: Fields) -> ModelConfig:
    """Add the window of the layers from ``max_window_layers`` on, where it is switched on."""
    if not fields.flag("use_sliding_window", default=False):
        return config
    first = fields.whole("max_window_layers", config.num_layers)

    def is_upper(layer: int) -> bool:
        return layer >= first

    return with_window(config, fields, is_upper)


FAMILY = Family(("qwen2",), gguf="qwen2", describe=with_upper_window)
