"""Parameters by canonical name, whatever the file calls them.

Names: ``embed``, ``norm``, ``head`` (absent when tied), and for each layer i
``layers.{i}.attention_norm``, ``.q``, ``.k``, ``.v``, ``.o``, ``.ffn_norm``, ``.gate``, ``.up``,
``.down``, optionally ``.q_bias``, ``.k_bias``, ``.v_bias``, ``.o_bias``.
"""

from typing import Protocol

import torch

from engine.model.config import ModelConfig
from engine.quant.layout import Weight


class WeightSource(Protocol):
    """A checkpoint open for reading, one tensor at a time."""

    @property
    def config(self) -> ModelConfig:
        """The model's shape; every tensor was checked against it when the source was opened."""
        ...

    def has(self, name: str) -> bool:
        """Whether the checkpoint holds the canonical ``name``."""
        ...

    def weight(self, name: str) -> Weight:
        """A matrix [N, K], decoded now; q and k rows in the half-split rotary order."""
        ...

    def vector(self, name: str) -> torch.Tensor:
        """A norm or a bias, float32 [N]."""
        ...
