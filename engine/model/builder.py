"""Turns the canonical weights of a checkpoint into layers: packs products, decides what each does.

Reads from a WeightSource, one layer at a time; knows no file format.
"""

import torch

from engine.api import Precision
from engine.model.config import ModelConfig
from engine.model.experts import ExpertMixture
from engine.model.layer import DecoderLayer, FeedForward, QKNorm
from engine.model.mlp import GatedMLP, activation_function
from engine.model.norm import HeadNorm, ProjectionNorm, RMSNorm
from engine.model.source import WeightSource, optional_shapes
from engine.quant.embedding import Embedding, make_tied
from engine.quant.layout import concat_rows
from engine.quant.linear import Linear, make_dense, make_linear


class LayerBuilder:
    """Reads and packs the parts of one model."""

    def __init__(
        self,
        source: WeightSource,
        precision: Precision,
        compute_dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._source = source
        self._config = source.config
        self._precision = precision
        self._dtype = compute_dtype
        self._device = device
        self._windows = layer_windows(source.config)
        self._rotations = layer_rotations(source.config)
        self._optional_shapes = optional_shapes(source.config)

    def ends(self) -> tuple[Embedding, Linear]:
        """The embedding and the head; tied ones share one table where a product can read it."""
        table = self._source.weight("embed")
        if not self._source.has("head"):
            return make_tied(table, self._precision, self._dtype, self._device)
        return Embedding(table, self._dtype, self._device), self._product("head")

    def norm(self, name: str) -> RMSNorm:
        """The norm called ``name``."""
        return RMSNorm(self._vector(name), self._config.rms_norm_eps)

    def layer(self, index: int) -> DecoderLayer:
        """Layer ``index``, read and packed now."""
        at = f"layers.{index}."
        before, after = self._config.norms != "after", self._config.norms != "before"
        return DecoderLayer(
            qkv=self._product(at + "q", at + "k", at + "v"),
            o=self._product(at + "o"),
            feed_forward=self._experts(at) if self._config.has_experts(index) else self._gated(at),
            attention_norm=self.norm(at + "attention_norm") if before else None,
            post_attention_norm=self.norm(at + "post_attention_norm") if after else None,
            ffn_norm=self.norm(at + "ffn_norm") if before else None,
            post_ffn_norm=self.norm(at + "post_ffn_norm") if after else None,
            qk_norm=self._qk_norm(at),
            qkv_bias=self._bias(at + "q_bias", at + "k_bias", at + "v_bias"),
            o_bias=self._bias(at + "o_bias"),
            residual_scale=self._config.residual_scale,
            window=self._windows.index(layer_window(self._config, index)),
            rotation=self._rotations.index(layer_rotation(self._config, index)),
        )

    def _gated(self, at: str) -> GatedMLP:
        return GatedMLP(
            self._product(at + "gate", at + "up"),
            self._product(at + "down"),
            self._bias(at + "gate_bias", at + "up_bias"),
            self._bias(at + "down_bias"),
            activation_function(self._config.activation),
        )

    def _experts(self, at: str) -> FeedForward:
        experts = self._config.experts
        if experts is None:
            return self._gated(at)
        # the choice of experts is sensitive to rounding, and its matrix small
        router = self._source.weight(at + "router")
        return ExpertMixture(
            make_dense(router, Precision.FP32, torch.float32, self._device),
            tuple(self._gated(f"{at}experts.{expert}.") for expert in range(experts.count)),
            experts.per_token,
            experts.is_normalised,
        )

    def _qk_norm(self, at: str) -> QKNorm | None:
        config = self._config
        if config.qk_norm == "none":
            return None
        if config.qk_norm == "projection":
            return ProjectionNorm(self.norm(at + "q_norm"), self.norm(at + "k_norm"))
        q, k = self._vector(at + "q_norm"), self._vector(at + "k_norm")
        rows = torch.cat((q.expand(config.num_heads, -1), k.expand(config.num_kv_heads, -1)))
        return HeadNorm(rows, config.rms_norm_eps)

    def _product(self, *names: str) -> Linear:
        weight = concat_rows([self._source.weight(name) for name in names])
        return make_linear(weight, self._precision, self._dtype, self._device)

    def _vector(self, name: str) -> torch.Tensor:
        return self._source.vector(name).to(self._device, self._dtype)

    def _bias(self, *names: str) -> torch.Tensor | None:
        """Several biases end to end, zero where the checkpoint has none; None if it has no one."""
        if not any(self._source.has(name) for name in names):
            return None
        shapes = self._optional_shapes
        parts = [
            self._source.vector(name) if self._source.has(name) else torch.zeros(shapes[name])
            for name in names
        ]
        return torch.cat(parts).to(self._device, self._dtype)


def layer_window(config: ModelConfig, layer: int) -> int:
    """Tokens that ``layer`` sees, its own included; 0: all."""
    return config.sliding_window if config.is_sliding(layer) else 0


def layer_rotation(config: ModelConfig, layer: int) -> float:
    """Theta of a layer that rotates by its own, 0 if by the model's, less than 0 if by none."""
    if not config.is_rotated(layer):
        return -1.0
    return config.local_rope_theta if config.is_sliding(layer) else 0.0


def layer_windows(config: ModelConfig) -> tuple[int, ...]:
    """The distinct windows of all layers."""
    return tuple(sorted({layer_window(config, i) for i in range(config.num_layers)}))


def layer_rotations(config: ModelConfig) -> tuple[float, ...]:
    """The distinct rotations of all layers."""
    return tuple(sorted({layer_rotation(config, i) for i in range(config.num_layers)}))
