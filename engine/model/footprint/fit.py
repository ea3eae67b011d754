"""Where a model fits: whole on one device, or cut between a GPU and the computer around it.

The loader acts on the answer and the planner foretells it. What a device must hold at its peak::

    weights + max(packing of the largest matrix, cache + activations) + runtime

Plain numbers, no torch. Too little memory is an answer, not an error.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from engine.api import KVPrecision, Precision
from engine.model.footprint.activations import activation_bytes, packing_bytes
from engine.model.footprint.blueprint import Blueprint
from engine.model.footprint.cache import (
    BLOCK_TOKENS,
    CHUNK_TOKENS,
    Pool,
    allocated_cache_bytes,
    layer_cache_bytes,
    whole_blocks,
)
from engine.model.footprint.setup import Setup
from engine.model.footprint.weights import (
    Target,
    allocated_bytes,
    default_kv,
    embedding_bytes,
    layer_bytes,
    product_bytes,
)
from engine.model.offload import ModelParts, split_layers

RUNTIME_BYTES = 256 << 20  # the interpreter, torch and the window
USEFUL_CONTEXT = 4_096  # tokens; rather than have fewer, a GPU leaves layers to the CPU


@dataclass(frozen=True, slots=True)
class Place:
    """One device. ``budget_bytes``: the most that weights and cache may take of what is free."""

    available_bytes: int
    target: Target
    budget_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Mode:
    """How it runs. ``precision`` is not AUTO; ``kv`` AUTO: as ``default_kv`` says.

    ``chunk``: the most tokens of one step.
    """

    precision: Precision
    kv: KVPrecision = KVPrecision.AUTO
    streams: int = 1
    chunk: int = CHUNK_TOKENS


@dataclass(frozen=True, slots=True)
class Demand:
    """What is asked for, in tokens.

    A stream's cache should hold ``pool`` and must hold ``least``, both whole blocks; one request
    has up to ``context`` of them. ``is_open``: nobody asked for that context by number.
    """

    context: int
    pool: int
    least: int
    is_open: bool = False

    @property
    def useful_context(self) -> int:
        """Tokens without which a GPU is not worth having to itself."""
        return min(self.context, USEFUL_CONTEXT) if self.is_open else self.context


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes on one device."""

    weights: int
    kv: int
    activations: int
    packing: int

    @property
    def total(self) -> int:
        """While it answers."""
        return self.weights + self.kv + self.activations + RUNTIME_BYTES

    @property
    def peak(self) -> int:
        """The most at once: the cache is not touched before the weights are packed."""
        return max(self.total, self.weights + self.packing + RUNTIME_BYTES)

    def fits(self, place: Place) -> bool:
        """Whether ``place`` holds it, without a margin."""
        budget = place.budget_bytes
        is_within = budget is None or self.weights + max(self.kv, self.packing) <= budget
        return is_within and self.peak <= place.available_bytes


@dataclass(frozen=True, slots=True)
class Fitted:
    """How it fits: tokens of a request and of a stream's cache, and the bytes on each device.

    The first ``cpu_layers`` run on the CPU; all of them: the GPU is left alone. ``host`` is
    None where all runs on one device.
    """

    context: int
    pool: int
    device: Need
    cpu_layers: int = 0
    host: Need | None = None


@dataclass(frozen=True, slots=True)
class Shortage:
    """It does not fit: bytes of the device that falls short."""

    needed: int
    available: int


class Fitter:
    """Finds room on ``place``, with the help of ``host`` where that is a GPU."""

    def __init__(
        self, blueprint: Blueprint, mode: Mode, place: Place, host: Place | None = None
    ) -> None:
        self._place = place
        self._needs = Needs(blueprint, mode, place.target)
        self._cut = None if host is None else _Cut(blueprint, self._needs, place, host)

    @property
    def setup(self) -> Setup:
        """How it runs on the place; its context means nothing."""
        return self._needs.setup

    def need(self, context: int, pool: int) -> Need:
        """Bytes of the whole on the place alone."""
        return self._needs.of(context, pool)

    def kv_bytes(self, context: int, pool: int) -> int:
        """Bytes of the cache alone."""
        return self._needs.kv_bytes(context, pool)

    def fit(self, demand: Demand) -> Fitted | Shortage:
        """Where ``demand`` fits.

        Where even the help leaves no layer to the GPU, all layers are ``cpu_layers``, and the
        computer by itself has yet to be asked.
        """
        whole = self._fit_whole(demand)
        if isinstance(whole, Fitted) or self._cut is None:
            return whole
        return self._cut.fit(demand)

    def _fit_whole(self, demand: Demand) -> Fitted | Shortage:
        def at(pool: int) -> Fitted | Shortage:
            context = min(demand.context, pool)
            need = self._needs.of(context, pool)
            if need.fits(self._place):
                return Fitted(context, pool, need)
            return Shortage(need.peak, self._place.available_bytes)

        found = _largest(at, demand.least, demand.pool)
        if isinstance(found, Shortage) or self._cut is None:
            return found
        if found.context >= demand.useful_context:
            return found
        useful = self._needs.of(demand.useful_context, whole_blocks(demand.useful_context))
        return Shortage(useful.peak, self._place.available_bytes)


class Needs:
    """Bytes on one device that holds all of a model, by the size of its cache."""

    def __init__(self, blueprint: Blueprint, mode: Mode, target: Target) -> None:
        self.blueprint = blueprint
        kv = mode.kv
        if kv is KVPrecision.AUTO:
            kv = default_kv(blueprint, mode.precision, target)
        self.setup = Setup(mode.precision, kv, BLOCK_TOKENS, mode.streams, target)
        self._weights = allocated_bytes(blueprint, mode.precision, target)
        layers = sum(layer_bytes(blueprint, mode.precision, target))
        self._packing = packing_bytes(blueprint, layers)
        self._chunk = mode.chunk

    def of(self, context: int, pool: int) -> Need:
        """With ``pool`` tokens for each stream, of which a request has up to ``context``."""
        setup = replace(self.setup, context=context)
        return Need(
            weights=self._weights,
            kv=self.kv_bytes(context, pool),
            activations=activation_bytes(self.blueprint, setup),
            packing=self._packing,
        )

    def kv_bytes(self, context: int, pool: int) -> int:
        """Bytes of all layers' caches."""
        laid_out = Pool(pool, context, self._chunk)
        cache = allocated_cache_bytes(self.blueprint.tracks, laid_out, self.setup.kv)
        return self.setup.streams * cache

    def kv_layers(self, context: int, pool: int) -> list[int]:
        """Bytes of each layer's cache, as in ``of``."""
        setup, laid_out = self.setup, Pool(pool, context, self._chunk)
        layers = layer_cache_bytes(
            self.blueprint.tracks, self.blueprint.num_layers, laid_out, setup.kv
        )
        return [setup.streams * size for size in layers]


class _Cut:
    """Where the layers part, by the size of the cache."""

    def __init__(self, blueprint: Blueprint, needs: Needs, place: Place, host: Place) -> None:
        self._needs = needs
        self._place = place
        self._host = host
        precision, target = needs.setup.precision, place.target
        self._num_layers = blueprint.num_layers
        self._gpu_layers = layer_bytes(blueprint, precision, target)
        self._cpu_layers = layer_bytes(blueprint, precision, host.target)
        self._head = product_bytes(blueprint.head_product, blueprint, precision, target)
        self._table = embedding_bytes(blueprint, precision, host.target)

    def fit(self, demand: Demand) -> Fitted | Shortage:
        """The cut that leaves room for the most of ``demand``."""
        # with no memory to be called plentiful, one context is all there is
        pool = max(demand.least, min(demand.pool, whole_blocks(demand.context)))
        if demand.is_open:
            # the GPU's memory is better spent on layers than on a context nobody asked for
            modest = max(self._modest_pool(), whole_blocks(demand.useful_context))
            pool = max(demand.least, min(pool, modest))
        return _largest(partial(self._at, demand.context), demand.least, pool)

    def _at(self, context: int, pool: int) -> Fitted | Shortage:
        context = min(context, pool)
        need = self._needs.of(context, pool)
        kv = self._needs.kv_layers(context, pool)
        layers = [weights + cache for weights, cache in zip(self._gpu_layers, kv, strict=True)]
        parts = ModelParts(self._table, layers, self._head, kv_layer=0)
        budget = self._budget(need.activations) - need.packing
        count = split_layers(parts, budget).cpu_layers
        if count == 0:
            return Fitted(context, pool, need)
        device = replace(
            need,
            weights=sum(self._gpu_layers[count:]) + self._head,
            kv=sum(kv[count:]),
        )
        host = replace(
            need,
            weights=sum(self._cpu_layers[:count]) + self._table,
            kv=sum(kv[:count]),
        )
        if count < self._num_layers and not host.fits(self._host):
            return Shortage(host.peak, self._host.available_bytes)
        return Fitted(context, pool, device, count, host)

    def _budget(self, activations: int) -> int:
        free = self._place.available_bytes - RUNTIME_BYTES - activations
        asked = self._place.budget_bytes
        return max(0, free if asked is None else min(free, asked))

    def _modest_pool(self) -> int:
        """Tokens a stream whose cache takes a quarter of what the GPU may hold."""
        block = self._needs.of(BLOCK_TOKENS, BLOCK_TOKENS).kv
        return self._budget(0) // 4 // max(1, block) * BLOCK_TOKENS


def _largest(at: Callable[[int], Fitted | Shortage], least: int, most: int) -> Fitted | Shortage:
    """What fits with the most tokens from ``least`` to ``most``, both whole blocks."""
    found = at(most)
    if isinstance(found, Fitted) or least >= most:
        return found
    best = at(least)
    low, high = least // BLOCK_TOKENS, most // BLOCK_TOKENS
    while isinstance(best, Fitted) and high - low > 1:
        middle = (low + high) // 2
        found = at(middle * BLOCK_TOKENS)
        if isinstance(found, Fitted):
            low, best = middle, found
        else:
            high = middle
    return best
