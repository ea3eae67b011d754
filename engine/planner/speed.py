"""How fast: bytes and arithmetic of a token over the ceilings measured on this machine.

Decoding reads every active weight and the streams' caches once a step, at the rate memory gives
or the product itself reaches with one row, whichever is lower, and pays for its kernel calls.
Prefill multiplies, so it is bound by the rate of the product that runs it.
"""

from dataclasses import dataclass

from engine.api import Precision
from engine.model.footprint.blueprint import Blueprint
from engine.model.footprint.cache import attention_flops, cache_bytes_read
from engine.model.footprint.setup import Setup
from engine.model.footprint.weights import head_bytes, product_bytes
from engine.roofline import Ceilings

# torch calls of a layer's decode step: 4 products, 2 norms, rotation, append, attention, adds
CALLS_PER_LAYER = 24


@dataclass(frozen=True, slots=True)
class Parts:
    """What runs where: all of it as ``setup`` says, or ``host_share`` of the layers on the host."""

    setup: Setup
    host: Setup | None = None
    host_share: float = 0.0


def decode_tokens_per_s(blueprint: Blueprint, parts: Parts, ceilings: Ceilings) -> float:
    """Tokens a second of all streams together, each with its whole context behind it."""
    setup, host = parts.setup, parts.host
    seconds = (1 - parts.host_share) * _layers_decode_s(blueprint, setup, ceilings)
    seconds += head_bytes(blueprint, setup.precision, setup.target) / ceilings.weight_bytes_per_s(
        setup.precision
    )
    if host is not None:
        there = ceilings
        seconds += parts.host_share * _layers_decode_s(blueprint, host, there)
    return setup.streams / seconds


def prefill_tokens_per_s(blueprint: Blueprint, parts: Parts, ceilings: Ceilings) -> float:
    """Tokens a second of a prompt that fills the context; its mean token sees half of it."""
    seconds = (1 - parts.host_share) * _layers_prefill_s(blueprint, parts.setup, ceilings)
    if parts.host is not None:
        there = ceilings
        seconds += parts.host_share * _layers_prefill_s(blueprint, parts.host, there)
    return 1 / seconds


def _layers_decode_s(blueprint: Blueprint, setup: Setup, ceilings: Ceilings) -> float:
    """Seconds of one step's layers."""
    cache = setup.streams * cache_bytes_read(blueprint.tracks, setup.context, setup.kv)
    layers = weight_bytes_read(blueprint, setup)
    seconds = layers / ceilings.weight_bytes_per_s(setup.precision)
    seconds += cache / ceilings.read_bytes_per_s
    return seconds + blueprint.num_layers * CALLS_PER_LAYER * ceilings.call_s


def _layers_prefill_s(blueprint: Blueprint, setup: Setup, ceilings: Ceilings) -> float:
    """Seconds of one prompt token in the layers, many going through together."""
    products = 2 * sum(product.size * product.active for product in blueprint.products)
    attention = attention_flops(blueprint.tracks, setup.context // 2)
    seconds = products / ceilings.flops_per_s(setup.precision)
    return seconds + attention / ceilings.flops_per_s(Precision.FP32)


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
