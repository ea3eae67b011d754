"""How fast: bytes and arithmetic of a token over the ceilings measured on this machine.

Decoding reads every active weight and the streams' caches once a step, at the rate memory gives
or the product itself reaches with one row, whichever is lower, and pays for each layer what a layer
costs that computes next to nothing. Prefill multiplies, so it is bound by the rate of the product
that runs it, and of attention.
"""

from collections.abc import Callable
from dataclasses import dataclass

from engine.api import Precision
from engine.model.footprint.blueprint import Blueprint
from engine.model.footprint.cache import CHUNK_TOKENS, attention_flops, cache_bytes_read
from engine.model.footprint.setup import Setup
from engine.model.footprint.weights import head_bytes, product_bytes
from engine.roofline.ceilings import Ceilings

_NATIVE_WEIGHTS = frozenset({Precision.INT4, Precision.INT8})


@dataclass(frozen=True, slots=True)
class Parts:
    """What runs where: all of it as ``setup`` says, or ``host_share`` of the layers on the host."""

    setup: Setup
    host: Setup | None = None
    host_share: float = 0.0


def decode_tokens_per_s(blueprint: Blueprint, parts: Parts, ceilings: Ceilings) -> float | None:
    """Tokens a second of all streams together, each with its whole context behind it.

    None where a device that runs a part was not measured.
    """
    found = _layers(blueprint, parts, ceilings, _layers_decode_s)
    main = ceilings.of(is_cuda=parts.setup.target.is_cuda)
    if found is None or main is None:
        return None
    setup = parts.setup
    head = head_bytes(blueprint, setup.precision, setup.target)
    seconds = found + main.step_s + head / main.weight_bytes_per_s(setup.precision)
    return setup.streams / seconds


def prefill_tokens_per_s(blueprint: Blueprint, parts: Parts, ceilings: Ceilings) -> float | None:
    """Tokens a second of a prompt that fills the context; its mean token sees half of it."""
    seconds = _layers(blueprint, parts, ceilings, _layers_prefill_s)
    return None if seconds is None else 1 / seconds


def _layers(
    blueprint: Blueprint,
    parts: Parts,
    ceilings: Ceilings,
    seconds_of: Callable[[Blueprint, Setup, Ceilings, float], float],
) -> float | None:
    """Seconds of all layers, those on either device by their share."""
    shares = [(parts.setup, 1 - parts.host_share)]
    if parts.host is not None:
        shares.append((parts.host, parts.host_share))
    total = 0.0
    for setup, share in shares:
        there = ceilings.of(is_cuda=setup.target.is_cuda)
        if there is None:
            return None
        is_native = parts.host is None and runs_natively(blueprint, setup)
        layer_s = there.native_layer_s if is_native else there.layer_s
        total += share * seconds_of(blueprint, setup, there, layer_s)
    return total


def runs_natively(blueprint: Blueprint, setup: Setup) -> bool:
    """Whether the native core runs a whole step in one call."""
    is_packed = setup.precision in _NATIVE_WEIGHTS
    return blueprint.has_native_step and setup.target.has_core and is_packed


def _layers_decode_s(
    blueprint: Blueprint, setup: Setup, ceilings: Ceilings, layer_s: float
) -> float:
    """Seconds of one step's layers."""
    cache = setup.streams * cache_bytes_read(blueprint.tracks, setup.context, setup.kv)
    layers = weight_bytes_read(blueprint, setup)
    seconds = layers / ceilings.weight_bytes_per_s(setup.precision)
    return seconds + cache / ceilings.cache_bytes_per_s + blueprint.num_layers * layer_s


def _layers_prefill_s(
    blueprint: Blueprint, setup: Setup, ceilings: Ceilings, layer_s: float
) -> float:
    """Seconds of one prompt token in the layers, a chunk of them going through together."""
    products = 2 * sum(product.size * product.active for product in blueprint.products)
    attention = attention_flops(blueprint.tracks, setup.context // 2)
    seconds = products / ceilings.flops_per_s(setup.precision)
    seconds += attention / ceilings.attention_flops_per_s
    return seconds + blueprint.num_layers * layer_s / min(CHUNK_TOKENS, setup.context)


def decode_flops(blueprint: Blueprint, context: int) -> int:
    """Arithmetic of one token after ``context`` others.

    At 1,048,576 tokens DeepSeek-V4-Pro spends 303 billion and V3.2 1,158 billion: 26%, and its
    makers say 27%. Most of V3.2's is its indexer, which scores every token.
    """
    return 2 * blueprint.active_parameters + attention_flops(blueprint.tracks, context)


def weight_bytes_read(blueprint: Blueprint, setup: Setup) -> int:
    """Bytes of the layers one step reads; of experts, at most those its streams choose."""
    return sum(
        min(product.copies, setup.streams * product.active)
        * product_bytes(product, blueprint, setup.precision, setup.target)
        for product in blueprint.products
    )
