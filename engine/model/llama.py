"""Llama, and what is built like it: SmolLM2, and Mistral without a sliding window.

Plain classes and few tensor operations: a decode step of a small model is made of about as much
interpreter as arithmetic, so nothing here is an nn.Module. Reads weights from a WeightSource and
products from engine.quant; knows no file format and no scheduler.

One layer::

    x += o(attention(rotate(qkv(norm(x)))))
    x += down(silu(gate(norm(x))) * up(norm(x)))
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from engine.api import Precision
from engine.errors import LoadCancelledError, ModelUnsupportedError
from engine.kv.storage import PagedStorage
from engine.model.attention import HeadLayout, StepAttention
from engine.model.batch import ForwardBatch, ForwardInterruptedError
from engine.model.config import ModelConfig
from engine.model.mlp import GatedMLP
from engine.model.norm import RMSNorm
from engine.model.rope import RotaryTable, inverse_frequencies
from engine.model.source import WeightSource, optional_shapes
from engine.quant.embedding import Embedding, make_tied
from engine.quant.layout import concat_rows
from engine.quant.linear import Linear, make_linear


@dataclass(frozen=True, slots=True, eq=False)
class LlamaLayer:
    """The weights of one layer. ``qkv``: the rows of q, k and v in one product."""

    attention_norm: RMSNorm
    qkv: Linear
    o: Linear
    ffn_norm: RMSNorm
    mlp: GatedMLP
    qkv_bias: torch.Tensor | None = None
    o_bias: torch.Tensor | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of all weights and biases."""
        biases = [b for b in (self.qkv_bias, self.o_bias) if b is not None]
        parts = (self.attention_norm, self.qkv, self.o, self.ffn_norm, self.mlp)
        return sum(p.nbytes for p in parts) + sum(b.numel() * b.element_size() for b in biases)


class LlamaDecoder:
    """Satisfies ``engine.model.batch.Decoder``. Lives on one device, in one thread."""

    def __init__(
        self,
        config: ModelConfig,
        embedding: Embedding,
        layers: Sequence[LlamaLayer],
        norm: RMSNorm,
        head: Linear,
    ) -> None:
        """Take prepared weights; the dtype and device of ``norm`` are those of the computation.

        Raises ModelUnsupportedError for a rotation that is not computed here.
        """
        if config.rotary_dim not in {0, config.head_dim}:
            raise ModelUnsupportedError(
                "This model rotates only a part of each attention head, which this version does "
                "not compute. Choose another model.",
                feature="partial rotary embedding",
            )
        self.config = config
        self._embedding = embedding
        self._layers = tuple(layers)
        self._norm = norm
        self._head = head
        self._dtype = norm.weight.dtype
        self._device = norm.weight.device
        self._heads = HeadLayout(config.num_heads, config.num_kv_heads, config.head_dim)
        frequencies = inverse_frequencies(config.head_dim, config.rope_theta, config.rope_scaling)
        self._rotary = RotaryTable(frequencies, self._dtype, self._device)
        scales = torch.ones(config.num_heads + config.num_kv_heads, 1, dtype=self._dtype)
        scales[: config.num_heads] = config.head_dim**-0.5
        self._head_scales = scales.to(self._device)

    @classmethod
    def build(
        cls,
        source: WeightSource,
        precision: Precision,
        compute_dtype: torch.dtype,
        device: torch.device,
        on_progress: Callable[[int, int], None],
        is_cancelled: Callable[[], bool],
    ) -> "LlamaDecoder":
        """Read and pack all weights, one layer at a time.

        ``on_progress(done, total)`` counts parts: the embedding, each layer, the head.
        Raises LoadCancelledError soon after ``is_cancelled()`` turns true.
        """
        builder = _Builder(source, precision, compute_dtype, device)
        config = source.config
        total = config.num_layers + 2
        embedding, head = builder.ends()
        layers: list[LlamaLayer] = []
        for index in range(config.num_layers):
            on_progress(index + 1, total)
            if is_cancelled():
                raise LoadCancelledError("Loading was stopped.")
            layers.append(builder.layer(index))
        on_progress(total - 1, total)
        norm = builder.norm("norm")
        on_progress(total, total)
        return cls(config, embedding, layers, norm, head)

    @property
    def weights_bytes(self) -> int:
        """Bytes of all weights as allocated."""
        return (
            self._embedding.nbytes
            + self._head.nbytes
            + self._norm.nbytes
            + sum(layer.nbytes for layer in self._layers)
        )

    @property
    def kernels(self) -> tuple[str, ...]:
        """Which product runs each part, in words: "qkv: ...", as in the first layer."""
        first = self._layers[0]
        parts = {
            "qkv": first.qkv,
            "o": first.o,
            "gate_up": first.mlp.gate_up,
            "down": first.mlp.down,
            "head": self._head,
        }
        return tuple(f"{name}: {linear.kernel}" for name, linear in parts.items())

    @torch.inference_mode()
    def forward(
        self, batch: ForwardBatch, storage: PagedStorage, interrupted: Callable[[], bool]
    ) -> torch.Tensor:
        """Append the batch's K and V to ``storage`` and return logits, float32 [R, vocab_size].

        Calls ``interrupted()`` between layers; raises ForwardInterruptedError when it is true.
        """
        self._rotary.reserve(max(s.context + s.length for s in batch.segments))
        attention = StepAttention(batch, storage, self._heads, self._dtype)
        rotation = self._rotary.rows(batch.positions, self._head_scales)
        x = self._embedding(batch.token_ids)
        rows = batch.logit_rows
        last = len(self._layers) - 1
        for index, layer in enumerate(self._layers):
            if interrupted():
                raise ForwardInterruptedError
            heads = self._project(layer, layer.attention_norm(x), rotation)
            storage.append(index, batch.slots, heads[:, self._heads.num_heads :])
            if index == last and rows.shape[0] == 0:
                return torch.empty(0, self.config.vocab_size, device=self._device)
            mixed = attention(index, heads[:, : self._heads.num_heads])
            if index == last and rows.shape[0] < x.shape[0]:
                # no later layer reads the others
                x, mixed = x[rows], mixed[rows]
            self._transform_(layer, x, mixed)
        return self._head(self._norm(x)).float()

    def _project(
        self, layer: LlamaLayer, x: torch.Tensor, rotation: tuple[torch.Tensor, torch.Tensor]
    ) -> torch.Tensor:
        """Project x [T, hidden] to rotated q and k, and v: [T, heads + 2 kv_heads, head_dim]."""
        qkv = layer.qkv(x)
        if layer.qkv_bias is not None:
            qkv += layer.qkv_bias
        heads = qkv.view(x.shape[0], -1, self._heads.head_dim)
        rotated = self._heads.num_heads + self._heads.num_kv_heads
        self._rotary.rotate_(heads[:, :rotated], *rotation)
        return heads

    @staticmethod
    def _transform_(layer: LlamaLayer, x: torch.Tensor, mixed: torch.Tensor) -> None:
        """Everything after attention, added to x [T, hidden] in place."""
        out = layer.o(mixed)
        if layer.o_bias is not None:
            out += layer.o_bias
        x += out
        x += layer.mlp(layer.ffn_norm(x))


class _Builder:
    """Turns canonical weights into products."""

    def __init__(
        self,
        source: WeightSource,
        precision: Precision,
        compute_dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._source = source
        self._precision = precision
        self._dtype = compute_dtype
        self._device = device

    def product(self, *names: str) -> Linear:
        weight = concat_rows([self._source.weight(name) for name in names])
        return make_linear(weight, self._precision, self._dtype, self._device)

    def ends(self) -> tuple[Embedding, Linear]:
        """The embedding and the head; tied ones share one table where a product can read it."""
        table = self._source.weight("embed")
        if not self._source.has("head"):
            return make_tied(table, self._precision, self._dtype, self._device)
        return Embedding(table, self._dtype, self._device), self.product("head")

    def norm(self, name: str) -> RMSNorm:
        weight = self._source.vector(name).to(self._device, self._dtype)
        return RMSNorm(weight, self._source.config.rms_norm_eps)

    def bias(self, *names: str) -> torch.Tensor | None:
        """Several biases end to end, zero where the checkpoint has none; None if it has no one."""
        if not any(self._source.has(name) for name in names):
            return None
        shapes = optional_shapes(self._source.config)
        parts = [
            self._source.vector(name) if self._source.has(name) else torch.zeros(shapes[name])
            for name in names
        ]
        return torch.cat(parts).to(self._device, self._dtype)

    def layer(self, index: int) -> LlamaLayer:
        at = f"layers.{index}."
        return LlamaLayer(
            attention_norm=self.norm(at + "attention_norm"),
            qkv=self.product(at + "q", at + "k", at + "v"),
            o=self.product(at + "o"),
            ffn_norm=self.norm(at + "ffn_norm"),
            mlp=GatedMLP(
                self.product(at + "gate", at + "up"),
                self.product(at + "down"),
                self.bias(at + "gate_bias", at + "up_bias"),
                self.bias(at + "down_bias"),
            ),
            qkv_bias=self.bias(at + "q_bias", at + "k_bias", at + "v_bias"),
            o_bias=self.bias(at + "o_bias"),
        )
