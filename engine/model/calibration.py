"""A pass over a short text, layer by layer, that chooses INT4 weights for what they do to it.

The text runs through the model once. Before each product its inputs are known, the quantised
layers before it included, and ``engine.quant.calibration`` rounds its weights for these inputs;
the text then goes on through the quantised product. Weights are read one matrix at a time, and one
layer's results are held until they are asked for: beside them the memory holds the text's hidden
state and the inputs of one product (4 bytes x tokens x columns each), two matrices of at most
4,096 x 4,096 float32 for each 4,096 columns of it, and one layer as the file keeps it.

Matrices that come in 4 bits stay as they are. So do experts, of which each would see a few
tokens only: they are rounded without looking at inputs, as is a head.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from engine.api import Precision
from engine.config import KVFormat, KVGeometry
from engine.kv.storage import PagedStorage
from engine.model.attention import StepAttention
from engine.model.batch import ForwardBatch, Segment
from engine.model.builder import LayerBuilder
from engine.model.config import ModelConfig
from engine.model.layer import DecoderLayer
from engine.model.mlp import GatedMLP
from engine.model.native import NativeDecoder
from engine.model.norm import RMSNorm
from engine.model.source import WeightSource
from engine.quant.calibration import GROUP_SIZE, OutputFit
from engine.quant.embedding import Embedding
from engine.quant.layout import DenseWeight, GroupedInt4Weight, concat_rows
from engine.quant.linear import Linear, make_dense, make_linear

_TEXTS = Path(__file__).resolve().parents[2] / "resources" / "passages" / "calibration"
_SEQUENCE = 512  # tokens that see one another
_BLOCK_SIZE = 16
_ROWS = 256  # of a feed-forward block at a time
_STEPS = 4  # products of a layer
_CPU = torch.device("cpu")


def calibration_texts() -> list[str]:
    """The built-in texts: prose, verse, talk, code, tables, in several languages."""
    return [path.read_text("utf-8") for path in sorted(_TEXTS.glob("*.txt"))]


def cut_prompts(prompts: Iterable[Sequence[int]], longest: int) -> list[Sequence[int]]:
    """Token ids in sequences of at most ``longest``, and at most 512."""
    step = min(_SEQUENCE, longest)
    return [ids[at : at + step] for ids in prompts for at in range(0, len(ids), step)]


class CalibratedLayers:
    """INT4 weights of the layers of one model, made in order as they are asked for."""

    def __init__(
        self,
        source: WeightSource,
        prompts: Sequence[Sequence[int]],
        report: Callable[[int, int], None],
        check: Callable[[], None],
    ) -> None:
        """``prompts``: token ids, no sequence longer than the trained context.

        ``report(done, total)`` is told of each product; ``check`` is called often. Either may
        raise to stop.
        """
        self._source = source
        self._report = report
        self._check = check
        # as the file keeps it: norms and biases, and the products of experts
        self._builder = LayerBuilder(source, Precision.AUTO, torch.float32, _CPU)
        self._prompts = prompts
        self._trunk: _Trunk | None = None
        self._made: dict[str, GroupedInt4Weight] = {}
        self._next = 0  # layer
        self._step = 0
        self._total = _STEPS * source.config.num_layers

    def take(self, name: str) -> GroupedInt4Weight | None:
        """The weights ``layers.{i}.{part}``, once; None where they are not calibrated.

        Layers are asked for in order; those that were skipped are made all the same.
        """
        kind, _, rest = name.partition(".")
        index = rest.partition(".")[0]
        if kind != "layers" or not index.isdecimal():
            return None
        with torch.no_grad():
            while self._next <= int(index):
                self._made.clear()
                self._advance(self._next)
                self._next += 1
        return self._made.pop(name, None)

    def _advance(self, index: int) -> None:
        """Quantise layer ``index`` and take the text through it."""
        if self._trunk is None:
            self._trunk = _Trunk(self._source, self._builder.norm("norm"), self._prompts)
        trunk = self._trunk
        layer = self._builder.layer(index)
        at = f"layers.{index}."
        x = trunk.hidden
        inputs = x if layer.attention_norm is None else layer.attention_norm(x)
        qkv = self._quantise(at, ("q", "k", "v"), inputs, layer.qkv)
        layer = replace(layer, qkv=qkv)
        mixed = trunk.attend(layer, x)
        layer = replace(layer, o=self._quantise(at, ("o",), mixed, layer.o))
        _add_(x, layer.o(mixed), layer.o_bias, layer.post_attention_norm, layer.residual_scale)
        inputs = x if layer.ffn_norm is None else layer.ffn_norm(x)
        out = self._feed_forward(at, layer, inputs)
        _add_(x, out, None, layer.post_ffn_norm, layer.residual_scale)
        self._step = _STEPS * (index + 1)  # a mixture of experts has fewer
        self._report(self._step, self._total)

    def _feed_forward(self, at: str, layer: DecoderLayer, inputs: torch.Tensor) -> torch.Tensor:
        mlp = layer.feed_forward
        if not isinstance(mlp, GatedMLP):
            return torch.cat([mlp(rows) for rows in torch.split(inputs, _ROWS)])
        gate_up = self._quantise(at, ("gate", "up"), inputs, mlp.gate_up)
        inner = torch.empty(inputs.shape[0], mlp.down.in_features)
        for rows, out in zip(torch.split(inputs, _ROWS), torch.split(inner, _ROWS), strict=True):
            both = gate_up(rows)
            if mlp.gate_up_bias is not None:
                both += mlp.gate_up_bias
            gate, up = both.chunk(2, -1)
            torch.mul(mlp.activation(gate), up, out=out)
        down = self._quantise(at, ("down",), inner, mlp.down)
        result = down(inner)
        return result if mlp.down_bias is None else result.add_(mlp.down_bias)

    def _quantise(
        self, at: str, parts: Sequence[str], inputs: torch.Tensor, as_filed: Linear
    ) -> Linear:
        """Choose the weights of a product for ``inputs`` [T, K]; the product that runs them."""
        self._report(self._step, self._total)
        self._step += 1
        if inputs.shape[1] % GROUP_SIZE:
            return as_filed
        fit: OutputFit | None = None
        weights: list[GroupedInt4Weight] = []
        for part in parts:
            self._check()
            weight = self._source.weight(at + part)
            if isinstance(weight, GroupedInt4Weight) and weight.group_size == GROUP_SIZE:
                weights.append(weight)
                continue
            fit = fit or OutputFit(inputs, self._check)
            weights.append(fit.fit(weight))
        self._made |= {at + part: made for part, made in zip(parts, weights, strict=True)}
        return make_linear(concat_rows(weights), Precision.INT4, torch.float32, _CPU)


def _add_(
    x: torch.Tensor,
    out: torch.Tensor,
    bias: torch.Tensor | None,
    norm: RMSNorm | None,
    scale: float,
) -> None:
    """Add a block's output to the hidden state x."""
    if bias is not None:
        out = out + bias
    x.add_(out if norm is None else norm(out), alpha=scale)


class _Trunk(NativeDecoder):
    """The text's hidden state between two layers, and attention; has no layers and no head."""

    def __init__(
        self, source: WeightSource, norm: RMSNorm, prompts: Sequence[Sequence[int]]
    ) -> None:
        config = source.config
        self._batch, num_blocks = _flat_batch(prompts)
        used, places = torch.unique(self._batch.token_ids, return_inverse=True)
        # no more of the table than the text needs
        embedding = Embedding(source.weight("embed").rows(used), torch.float32, _CPU)
        nothing = DenseWeight(torch.zeros(1, config.hidden_size))
        head = make_dense(nothing, Precision.FP32, torch.float32, _CPU)
        super().__init__(config, embedding, (), norm, head)
        self._pool = PagedStorage(_one_layer(config, num_blocks), _CPU)
        self._attention = StepAttention(
            self._batch, self._pool, self._heads, self._dtype, self._windows
        )
        self._rotations = self._rotations_of(self._batch)
        self.hidden = self._embed(places).clone()

    def attend(self, layer: DecoderLayer, x: torch.Tensor) -> torch.Tensor:
        """What attention mixes from x [T, hidden]: [T, heads * head_dim]."""
        num_heads = self._heads.num_heads
        heads = layer.project(x, self._heads.head_dim)
        table, cosines, sines = self._rotations[layer.rotation]
        table.rotate_(heads[:, : num_heads + self._heads.num_kv_heads], cosines, sines)
        self._pool.append(0, self._batch.slots, heads[:, num_heads:])
        return self._attention(0, heads[:, :num_heads], layer.window)


def _one_layer(config: ModelConfig, num_blocks: int) -> KVGeometry:
    return KVGeometry(
        num_layers=1,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        block_size=_BLOCK_SIZE,
        num_blocks=num_blocks,
        format=KVFormat.FLOAT32,
    )


def _flat_batch(prompts: Sequence[Sequence[int]]) -> tuple[ForwardBatch, int]:
    """All sequences as one batch, each in blocks of its own; and how many blocks there are."""
    segments: list[Segment] = []
    ids: list[int] = []
    positions: list[int] = []
    slots: list[int] = []
    block = 0
    for prompt in prompts:
        length = len(prompt)
        used = -(-length // _BLOCK_SIZE)
        segments.append(Segment(len(ids), length, 0, tuple(range(block, block + used))))
        ids.extend(prompt)
        positions.extend(range(length))
        slots.extend(range(block * _BLOCK_SIZE, block * _BLOCK_SIZE + length))
        block += used
    batch = ForwardBatch(
        token_ids=torch.tensor(ids),
        positions=torch.tensor(positions),
        slots=torch.tensor(slots),
        segments=tuple(segments),
        logit_rows=torch.empty(0, dtype=torch.int64),
    )
    return batch, block
