"""A loaded model with its layers rounded to NF4, for ``eval``.

bitsandbytes' 4-bit products want a graphics card; its rounding runs anywhere. The layers' matrices
are rounded and computed in FP32, which gives the quality and not the speed. Embedding and head
stay as they are, as they do when transformers loads a model through bitsandbytes.
"""

import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import torch
from typing_extensions import override

from engine.api import Precision
from engine.errors import ModelUnsupportedError
from engine.model.config import ModelConfig
from engine.model.gguf_source import GgufSource
from engine.model.hf_source import HfSource
from engine.model.loader import LoadedModel, open_checkpoint
from engine.model.native import NativeDecoder
from engine.model.source import Checkpoint, WeightSource
from engine.quant.layout import Weight
from engine.quant.nf4 import round_to_nf4

_OTHER_BYTES = 2  # of each value that is not rounded


class _RoundedSource(WeightSource):
    """A checkpoint whose layers come rounded; counts what they would take."""

    def __init__(self, source: Checkpoint) -> None:
        self._source = source
        self._rounded: dict[str, int] = {}

    @property
    @override
    def config(self) -> ModelConfig:
        return self._source.config

    @property
    def num_bytes(self) -> int:
        """Bytes of the rounded matrices as packed, and of everything else in 16 bits."""
        others = (s for name, s in self._source.shapes.items() if name not in self._rounded)
        return sum(self._rounded.values()) + sum(math.prod(s) for s in others) * _OTHER_BYTES

    @override
    def has(self, name: str) -> bool:
        return self._source.has(name)

    @override
    def weight(self, name: str) -> Weight:
        weight = self._source.weight(name)
        if not name.startswith("layers.") or name.endswith(".router"):
            return weight
        weight, self._rounded[name] = round_to_nf4(weight)
        return weight

    @override
    def vector(self, name: str) -> torch.Tensor:
        return self._source.vector(name)


def rounded_to_nf4(model: LoadedModel, is_stopped: Callable[[], bool]) -> tuple[LoadedModel, int]:
    """``model``, loaded on the CPU in FP32, with rounded layers; and the bytes these stand for.

    The cache is that of ``model``, which is not to be used any more. Raises ModelUnsupportedError
    for models of the compatibility path, and LoadCancelledError.
    """
    with closing(open_checkpoint(model.info.path)) as source:
        if not isinstance(source, GgufSource | HfSource):
            raise ModelUnsupportedError(
                "NF4 is measured on natively supported models only.",
                path=model.info.path,
                feature="NF4",
            )
        rounded = _RoundedSource(source)
        decoder = NativeDecoder.build(
            rounded,
            Precision.FP32,
            torch.float32,
            torch.device("cpu"),
            _ignore_part,
            is_stopped,
        )
        decoder.set_context(model.info.context_length)
        return replace(model, decoder=decoder), rounded.num_bytes


def _ignore_part(_done: int, _total: int) -> None:
    """Rounding takes no longer than loading did."""
