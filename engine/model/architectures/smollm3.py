"""SmolLM3: a Llama of which every fourth layer does not rotate."""

from dataclasses import replace

from engine.model.config import ModelConfig
from engine.model.family import Family, with_window
from engine.model.fields import Fields

_INTERVAL = 4


def _describe(config: ModelConfig, fields: Fields) -> ModelConfig:
    interval = fields.whole("no_rope_layer_interval", _INTERVAL)
    # one mark a layer, 1 for those that rotate
    rotated = fields.ids("no_rope_layers")[: config.num_layers] or [
        (layer + 1) % interval for layer in range(config.num_layers)
    ]
    unrotated = tuple(not mark for mark in rotated)
    config = replace(config, unrotated_layers=unrotated)
    if not fields.flag("use_sliding_window", default=False):
        return config
    return with_window(config, fields, unrotated.__getitem__)


FAMILY = Family(
    ("smollm3",),
    gguf="smollm3",
    describe=_describe,
    is_interleaved=True,
    default_theta=2_000_000.0,
    is_tied=True,
)
