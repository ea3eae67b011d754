"""A small DeepSeek-V4 with random weights, and the shape of a V3.2 made small in the same way.

Widths and head counts are the published ones divided by 16, and there are 6 layers of 61; strides,
window, chosen entries and experts a token are as published. Few experts are there to choose from,
which changes no figure a token.
"""

import math
from pathlib import Path

import torch

from engine.api import Precision
from engine.cli.latent_twin import LatentShape
from engine.model.architectures.deepseek_v4.config import V4Config, describe
from engine.model.architectures.deepseek_v4.decoder import V4Decoder
from engine.model.architectures.deepseek_v4.source import all_shapes
from engine.model.fields import Fields
from engine.quant.layout import DenseWeight

_EXPERTS = 8
_SMALL_V4 = {
    "vocab_size": 8_080,
    "hidden_size": 448,
    "moe_intermediate_size": 192,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "head_dim": 32,
    "qk_rope_head_dim": 4,
    "q_lora_rank": 96,
    "o_groups": 1,
    "o_lora_rank": 64,
    "index_n_heads": 4,
    "index_head_dim": 8,
    "index_topk": 1_024,
    "sliding_window": 128,
    "compress_ratios": [128, 4, 128, 4, 128, 4],
    "num_hash_layers": 0,
    "n_routed_experts": _EXPERTS,
    "num_experts_per_tok": 6,
    "max_position_embeddings": 1 << 21,
}
TWIN = LatentShape(
    layers=6,
    hidden=448,
    heads=8,
    q_rank=96,
    latent=32,
    plain=8,
    rotary=4,
    value=8,
    index_heads=4,
    index_dim=8,
    index_top=2_048,
    experts=_EXPERTS + 2,
    active=8,
    inner=128,
    vocab=8_080,
)


class _RandomWeights:
    """V4Weights: normal values, scaled so that products keep their size; norms are ones."""

    def __init__(self, v4: V4Config) -> None:
        self.v4 = v4
        self.folder = Path()
        self._shapes = dict(all_shapes(v4))
        self._draw = torch.Generator().manual_seed(0)

    def has(self, name: str) -> bool:
        """Every parameter is there."""
        return name in self._shapes

    def weight(self, name: str) -> DenseWeight:
        """A matrix [N, K]."""
        return DenseWeight(self.values(name))

    def values(self, name: str) -> torch.Tensor:
        """A tensor of any shape; biases and other vectors are zeros."""
        shape = self._shapes[name]
        if name.endswith("norm"):
            return torch.ones(shape)
        if len(shape) == 1 or name.endswith("bias"):
            return torch.zeros(shape)
        return torch.randn(shape, generator=self._draw) / math.sqrt(shape[1])

    def table(self, name: str) -> torch.Tensor:
        """No layer is hashed."""
        raise KeyError(name)


def build_small_v4() -> V4Decoder:
    """The model, in float32 on the CPU."""
    weights = _RandomWeights(describe(Fields(_SMALL_V4, "a small V4"), "small V4"))
    return V4Decoder.build(
        weights, Precision.FP32, torch.float32, torch.device("cpu"), _ignore, _never
    )


def random_states(decoder: V4Decoder, first: int, length: int) -> torch.Tensor:
    """Hidden states [length, hidden] as a layer's norm gives them; the same for the same place."""
    draw = torch.Generator().manual_seed(first)
    return torch.randn(length, decoder.config.base.hidden_size, generator=draw)


def _ignore(_done: int, _total: int) -> None:
    return


def _never() -> bool:
    return False
