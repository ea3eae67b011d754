"""Notes how long each part of each layer takes, by wrapping what a decoder is made of.

A decoder that is timed is a copy with these wrappers in place of its parts; the one that answers
reads no clock. Time between two parts counts as what is done there: before a product of the
hidden state come the residual's addition and its norm.
"""

import copy
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Protocol, runtime_checkable

import torch
from typing_extensions import override

from engine.api.profile import LayerTime, Part
from engine.metrics import Clock, now_ns
from engine.model.batch import Decoder
from engine.model.layer import DecoderLayer, FeedForward
from engine.quant.linear import Linear

Attend = Callable[[int, torch.Tensor, int], torch.Tensor]
Place = tuple[int | None, Part]  # a layer (None: outside), and a part of it
_PARTS = tuple(Part)
_PLACES = {part: place for place, part in enumerate(_PARTS)}


class PartClock:
    """Adds up nanoseconds of one pass after the other. Lap by lap, none is left out."""

    def __init__(self, num_layers: int, clock: Clock = now_ns) -> None:
        """For passes through ``num_layers``; ``clock`` waits for the device where it has one."""
        self._num_layers = num_layers
        self._clock = clock
        self._table = array("q", bytes(8 * (num_layers + 1) * len(_PARTS)))
        self._noted = 0
        self._last = 0

    @property
    def address(self) -> int:
        """Where native code adds its times: int64 [num_layers + 1, parts]. ``settle`` follows."""
        return self._table.buffer_info()[0]

    @property
    def table(self) -> Sequence[int]:
        """Nanoseconds: a row of parts a layer, then one for what is outside."""
        return self._table

    def start(self) -> None:
        """Begin a pass."""
        self._last = self._clock()

    def lap(self, layer: int | None, part: Part) -> None:
        """Count the time since the last lap as ``part`` of ``layer`` (None: outside)."""
        now = self._clock()
        row = self._num_layers if layer is None else layer
        self._table[row * len(_PARTS) + _PLACES[part]] += now - self._last
        self._noted += now - self._last
        self._last = now

    def settle(self) -> None:
        """Count what native code did not count since the last lap as other."""
        counted = sum(self._table)
        self._last += counted - self._noted
        self._noted = counted
        self.lap(None, Part.OTHER)


def layer_times(table: Sequence[int], num_passes: int) -> tuple[LayerTime, ...]:
    """The mean of passes added up as in ``PartClock.table``; it adds up to that of the whole."""
    means = [nanoseconds // num_passes for nanoseconds in table]
    means[-1] += sum(table) // num_passes - sum(means)  # the last one is other, outside
    outside = len(table) // len(_PARTS) - 1
    return tuple(
        LayerTime(
            None if index // len(_PARTS) == outside else index // len(_PARTS),
            _PARTS[index % len(_PARTS)],
            nanoseconds,
        )
        for index, nanoseconds in enumerate(means)
        if nanoseconds
    )


@runtime_checkable
class Timeable(Protocol):
    """A decoder that can tell its parts apart."""

    def take_clock(self, clock: PartClock) -> None:
        """Note what each part takes from now on. Meant for a copy, see ``timed``."""
        ...


def timed(decoder: Decoder, clock: PartClock) -> Decoder:
    """A decoder of the same weights that computes the same, and notes its parts' times.

    ``decoder`` itself goes on without a clock. One that cannot be looked into notes nothing.
    """
    double = copy.copy(decoder)
    if isinstance(double, Timeable):
        double.take_clock(clock)
    return double


class TimedLinear(Linear):
    """A product, which counts as ``place``; the time before it counts as ``before``."""

    def __init__(self, inner: Linear, clock: PartClock, before: Place, place: Place) -> None:
        self._inner = inner
        self._clock = clock
        self._before = before
        self._place = place

    @property
    @override
    def in_features(self) -> int:
        return self._inner.in_features

    @property
    @override
    def out_features(self) -> int:
        return self._inner.out_features

    @property
    @override
    def nbytes(self) -> int:
        return self._inner.nbytes

    @property
    @override
    def kernel(self) -> str:
        return self._inner.kernel

    @override
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self._clock.lap(*self._before)
        y = self._inner(x)
        self._clock.lap(*self._place)
        return y


class _TimedFeedForward(FeedForward):
    """A feed-forward block; the time before it counts as the norm."""

    def __init__(self, inner: FeedForward, clock: PartClock, layer: int) -> None:
        self._inner = inner
        self._clock = clock
        self._layer = layer

    @property
    @override
    def nbytes(self) -> int:
        return self._inner.nbytes

    @property
    @override
    def products(self) -> Mapping[str, Linear]:
        return self._inner.products

    @override
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self._clock.lap(self._layer, Part.NORM)
        y = self._inner(x)
        self._clock.lap(self._layer, Part.FFN)
        return y


def timed_layer(layer: DecoderLayer, clock: PartClock, index: int) -> DecoderLayer:
    """The layer of the same weights, noting its times as those of layer ``index``."""
    return replace(
        layer,
        qkv=TimedLinear(layer.qkv, clock, (index, Part.NORM), (index, Part.QKV)),
        o=TimedLinear(layer.o, clock, (index, Part.ATTENTION), (index, Part.OUTPUT)),
        feed_forward=_TimedFeedForward(layer.feed_forward, clock, index),
    )


def timed_attention(attend: Attend, clock: PartClock, first_layer: int) -> Attend:
    """Attention; the time before it counts as rotation. Layer 0 is the clock's ``first_layer``."""

    def attend_timed(layer: int, queries: torch.Tensor, window: int) -> torch.Tensor:
        clock.lap(first_layer + layer, Part.ROTARY)
        mixed = attend(layer, queries, window)
        clock.lap(first_layer + layer, Part.ATTENTION)
        return mixed

    return attend_timed


def layers_apart(interrupted: Callable[[], bool], clock: PartClock) -> Callable[[], bool]:
    """The question whether to go on, asked before each layer, which tells layers apart by that."""
    layers = count()
    before: int | None = None

    def ask() -> bool:
        nonlocal before
        clock.lap(before, Part.OTHER)
        before = next(layers)
        return interrupted()

    return ask
