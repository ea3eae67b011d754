"""Turns the weights of a DeepSeek-V4 into layers: packs products, decides what each does.

What is sensitive to rounding and small stays in float32: routers, the indexer's head weights,
hyper-connections, sinks and the pools' biases.
"""

from collections.abc import Mapping

import torch

from engine.api import Precision
from engine.kv.compressed import Entries, Tail
from engine.model.architectures.deepseek_v4.config import Kind
from engine.model.architectures.deepseek_v4.experts import ClampedMLP, RoutedExperts, Router
from engine.model.architectures.deepseek_v4.hyper import (
    HyperConnection,
    HyperHead,
    StreamWeights,
)
from engine.model.architectures.deepseek_v4.indexer import Indexer
from engine.model.architectures.deepseek_v4.layer import (
    CompressedAttention,
    GroupedOutput,
    V4Layer,
)
from engine.model.architectures.deepseek_v4.pool import Compressor, Pool
from engine.model.architectures.deepseek_v4.source import V4Weights
from engine.model.config import corrupt
from engine.model.norm import RMSNorm
from engine.quant.embedding import Embedding, make_tied
from engine.quant.layout import Weight, concat_rows
from engine.quant.linear import Linear, make_dense, make_linear

# which of the decoder's rotations a kind of layer uses
_ROTATIONS: Mapping[Kind, int] = {Kind.SLIDING: 0, Kind.CSA: 1, Kind.HCA: 1}
# what enters the pools of a kind of layer, in the order of the pools
_POOLED: Mapping[Kind, tuple[str, ...]] = {
    Kind.SLIDING: (),
    Kind.CSA: ("pool.values", "pool.gates", "index.values", "index.gates"),
    Kind.HCA: ("pool.values", "pool.gates"),
}


class V4Builder:
    """Reads and packs the parts of one model."""

    def __init__(
        self,
        source: V4Weights,
        precision: Precision,
        compute_dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._source = source
        self._v4 = source.v4
        self._precision = precision
        self._dtype = compute_dtype
        self._device = device

    def ends(self) -> tuple[Embedding, Linear]:
        """The embedding and the head; tied ones share one table where a product can read it."""
        table = self._source.weight("embed")
        if not self._source.has("head"):
            return make_tied(table, self._precision, self._dtype, self._device)
        return Embedding(table, self._dtype, self._device), self._product("head")

    def norm(self, name: str) -> RMSNorm:
        """The norm called ``name``."""
        weight = self._source.values(name).to(self._device, self._dtype)
        return RMSNorm(weight, self._v4.base.rms_norm_eps)

    def hyper_head(self) -> HyperHead:
        """The end of the streams."""
        return HyperHead(self._streams("collapse"))

    def layer(self, index: int) -> V4Layer:
        """Layer ``index``, read and packed now."""
        at = f"layers.{index}."
        streams, steps = self._v4.streams, self._v4.mix_steps
        return V4Layer(
            attention=self._attention(index),
            experts=self._experts(index),
            attention_norm=self.norm(at + "attention_norm"),
            ffn_norm=self.norm(at + "ffn_norm"),
            attention_streams=HyperConnection(
                self._streams(at + "attention_streams"), streams, steps
            ),
            ffn_streams=HyperConnection(self._streams(at + "ffn_streams"), streams, steps),
        )

    def _attention(self, index: int) -> CompressedAttention:
        at, base = f"layers.{index}.", self._v4.base
        kind = self._v4.kinds[index]
        inputs = ("q_a", "kv", *_POOLED[kind])
        return CompressedAttention(
            number=index,
            kind_number=self._v4.kinds[:index].count(kind),
            rotation=_ROTATIONS[kind],
            head_dim=base.head_dim,
            window=self._v4.compression.window,
            eps=base.rms_norm_eps,
            inputs=self._product(*(at + name for name in inputs)),
            queries=self._product(at + "q_b"),
            output=self._output(at),
            latent_norm=self.norm(at + "q_norm"),
            key_norm=self.norm(at + "kv_norm"),
            sinks=self._float32(at + "sinks"),
            compressor=self._compressor(at, kind),
            indexer=self._indexer(at) if kind is Kind.CSA else None,
        )

    def _output(self, at: str) -> GroupedOutput:
        whole, rank = self._source.weight(at + "o_a"), self._v4.group_rank
        groups = tuple(
            self._pack(whole.rows(torch.arange(first, first + rank)))
            for first in range(0, whole.shape[0], rank)
        )
        return GroupedOutput(groups, self._product(at + "o_b"))

    def _compressor(self, at: str, kind: Kind) -> Compressor | None:
        width, shape = self._v4.base.head_dim, self._v4.compression
        if kind is Kind.HCA:
            pool = self._pool(at + "pool.", Entries.HCA, shape.hca_stride, width)
            return Compressor(Tail.HCA, (pool,))
        if kind is Kind.CSA:
            pool = self._pool(at + "pool.", Entries.CSA, shape.csa_stride, width)
            index = self._pool(at + "index.", Entries.INDEX, shape.csa_stride, shape.index_dim)
            return Compressor(Tail.CSA, (pool, index))
        return None

    def _pool(self, at: str, kind: Entries, stride: int, width: int) -> Pool:
        return Pool(
            kind=kind,
            stride=stride,
            width=width,
            overlaps=kind is not Entries.HCA,
            bias=self._float32(at + "bias"),
            norm=self.norm(at + "norm"),
        )

    def _indexer(self, at: str) -> Indexer:
        return Indexer(
            queries=self._product(at + "index.queries"),
            head_weights=self._exact(at + "index.weights"),
            num_heads=self._v4.compression.index_heads,
            top=self._v4.compression.index_top,
        )

    def _experts(self, index: int) -> RoutedExperts:
        at, experts = f"layers.{index}.", self._v4.experts
        has_bias = self._source.has(at + "router_bias")
        router = Router(
            gate=self._exact(at + "router"),
            per_token=experts.per_token,
            score=self._v4.score,
            scale=self._v4.routed_scale,
            bias=self._float32(at + "router_bias") if has_bias else None,
            table=self._table(at + "router_table") if self._v4.is_hashed[index] else None,
        )
        routed = (self._mlp(f"{at}experts.{expert}.") for expert in range(experts.count))
        return RoutedExperts(router, tuple(routed), self._mlp(at + "shared."))

    def _table(self, name: str) -> torch.Tensor:
        table = self._source.table(name)
        low, high = (int(end) for end in table.aminmax())
        if low < 0 or high >= self._v4.experts.count:
            raise corrupt(str(self._source.folder), f"{name} names an expert that is not there")
        return table.to(self._device)

    def _mlp(self, at: str) -> ClampedMLP:
        gate_up = self._product(at + "gate", at + "up")
        return ClampedMLP(gate_up, self._product(at + "down"), self._v4.clamp)

    def _streams(self, at: str) -> StreamWeights:
        return StreamWeights(
            matrix=self._float32(f"{at}.matrix"),
            base=self._float32(f"{at}.base"),
            scales=self._float32(f"{at}.scales"),
            norm_eps=self._v4.base.rms_norm_eps,
            eps=self._v4.mix_eps,
        )

    def _product(self, *names: str) -> Linear:
        return self._pack(concat_rows([self._source.weight(name) for name in names]))

    def _pack(self, weight: Weight) -> Linear:
        return make_linear(weight, self._precision, self._dtype, self._device)

    def _exact(self, name: str) -> Linear:
        weight = self._source.weight(name)
        return make_dense(weight, Precision.FP32, torch.float32, self._device)

    def _float32(self, name: str) -> torch.Tensor:
        return self._source.values(name).to(self._device)
