"""What a step costs beside its products, measured on decoders of random weights.

They run as the engine runs them. A decoder with next to no weights shows what a layer costs however little it computes. One with wide
heads and a long cache behind it shows how fast attention multiplies and reads; two lengths are
compared, so that everything else drops out.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch

from engine.api import Precision
from engine.config import KVFormat, KVGeometry
from engine.kv.storage import PagedStorage
from engine.model.batch import ForwardBatch, Segment
from engine.model.config import ModelConfig
from engine.model.native import NativeDecoder
from engine.model.source import required_shapes
from engine.quant.layout import DenseWeight
from engine.roofline.stopwatch import Stopwatch

_BLOCK = 16
_FEW_LAYERS, _MANY_LAYERS = 2, 10
_NARROW = ModelConfig(
    model_type="llama",
    name="narrow",
    vocab_size=64,
    hidden_size=64,
    intermediate_size=64,
    num_layers=_FEW_LAYERS,
    num_heads=2,
    num_kv_heads=2,
    head_dim=32,
    rms_norm_eps=1e-5,
    rope_theta=10_000.0,
    max_position_embeddings=4_096,
    tie_word_embeddings=True,
)
_ATTENTIVE = replace(
    _NARROW, name="attentive", num_layers=4, num_heads=8, num_kv_heads=4, head_dim=64
)


@dataclass(frozen=True, slots=True)
class Kind:
    """How a decoder is built: the weights, the type it computes in, and where."""

    precision: Precision
    dtype: torch.dtype
    device: torch.device


class _RandomSource:
    """Weights of the right shapes, out of thin air."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self._shapes = required_shapes(config)
        self._draw = torch.Generator().manual_seed(0)

    def has(self, name: str) -> bool:
        return name in self._shapes

    def weight(self, name: str) -> DenseWeight:
        return DenseWeight(torch.randn(self._shapes[name], generator=self._draw).mul_(0.02))

    def vector(self, name: str) -> torch.Tensor:
        return torch.ones(self._shapes[name])


class _Runner:
    """A decoder, and a cache for one request."""

    def __init__(self, config: ModelConfig, kind: Kind, tokens: int) -> None:
        self._decoder = NativeDecoder.build(
            _RandomSource(config), kind.precision, kind.dtype, kind.device, _ignore, _never
        )
        kept = KVFormat(str(kind.dtype).removeprefix("torch."))
        geometry = KVGeometry(
            config.num_layers,
            config.num_kv_heads,
            config.head_dim,
            _BLOCK,
            -(-tokens // _BLOCK),
            kept,
        )
        self._storage = PagedStorage(geometry, kind.device)
        self._device = kind.device
        self._bytes_per_token = geometry.bytes_per_token

    @property
    def bytes_per_token(self) -> int:
        """Of the cache, in all layers."""
        return self._bytes_per_token

    def step(self, rows: int, context: int) -> Callable[[], object]:
        """A step of ``rows`` tokens with ``context`` behind them, ready to be called."""
        positions = torch.arange(context, context + rows, device=self._device)
        blocks = tuple(range(-(-(context + rows) // _BLOCK)))
        batch = ForwardBatch(
            token_ids=torch.zeros(rows, dtype=torch.int64, device=self._device),
            positions=positions,
            slots=positions,
            segments=(Segment(0, rows, context, blocks),),
            logit_rows=torch.tensor([rows - 1], device=self._device),
        )
        return partial(self._decoder.forward, batch, self._storage, _never)


def measure_layers(watch: Stopwatch, kind: Kind) -> tuple[float, float]:
    """Seconds of a step around its layers, and of one layer, with next to nothing to compute."""
    few, many = (
        watch.best([_Runner(replace(_NARROW, num_layers=n), kind, _BLOCK).step(1, 0)] * 8)
        for n in (_FEW_LAYERS, _MANY_LAYERS)
    )
    layer = max(1e-9, (many - few) / (_MANY_LAYERS - _FEW_LAYERS))
    return max(1e-9, few - _FEW_LAYERS * layer), layer


def measure_attention(
    watch: Stopwatch, kind: Kind, rows: int, context: int
) -> tuple[float, float]:
    """Arithmetic a second of ``rows`` that attend to ``context``, and bytes of it read for one."""
    config = _ATTENTIVE
    runner = _Runner(config, kind, context + rows)
    short, long = (watch.best([runner.step(rows, tokens)]) for tokens in (0, context))
    flops = 4 * config.num_layers * config.num_heads * config.head_dim * rows * context
    first, last = (watch.best([runner.step(1, tokens)] * 4) for tokens in (0, context))
    read = runner.bytes_per_token * context
    return flops / max(1e-9, long - short), read / max(1e-9, last - first)


def _ignore(_done: int, _total: int) -> None:
    return


def _never() -> bool:
    return False
