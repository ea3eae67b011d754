"""The whole answer for one model: bytes, verdict, speed and the reasons, before it is loaded.

``weights_bytes`` follows what is at hand. For a model whose weights are there (a GGUF file, a
folder with .safetensors files) it is what the engine will allocate, scales and all. For a
configuration alone (a shipped name, a config.json) it is the textbook's figure, bits a parameter.
``parameter_bytes`` and ``allocated_bytes`` say both in every case. ``kv_bytes`` is what the
model's attention needs, windows capped; ``kv_allocated_bytes`` what the engine's pool sets aside
for it. The verdict and ``total_bytes`` always count what is allocated::

    total = allocated + kv_allocated + activations + runtime
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from engine.api import Precision
from engine.errors import InvalidRequestError
from engine.planner.activations import activation_bytes, packing_bytes
from engine.planner.blueprint import Blueprint
from engine.planner.geometry import CacheTrack, KVPrecision, allocated_cache_bytes, cache_bytes
from engine.planner.room import RUNTIME_BYTES, Memory, Verdict, explain, judge, margin_bytes
from engine.planner.setup import Setup
from engine.planner.speed import decode_tokens_per_s, prefill_tokens_per_s
from engine.planner.weights import Target, allocated_bytes, parameter_bytes, resolve_precision
from engine.roofline import Ceilings

DEFAULT_CONTEXT = 8_192
_MOST_TOKENS = 1 << 28
_MOST_STREAMS = 4_096


@dataclass(frozen=True, slots=True)
class Wish:
    """How the model would be run.

    ``kv`` None keeps the cache in the type the decoder computes in, as the engine does.
    ``context`` None is the trained one, up to 8,192 tokens; each of ``streams`` has that many.
    """

    weights: Precision = Precision.AUTO
    kv: KVPrecision | None = None
    context: int | None = None
    streams: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """What a model will take and give. Bytes and tokens; speeds None where nothing was measured.

    ``kv_bytes_per_token``: ``kv_bytes`` over all tokens of all streams. ``peak_bytes``: the most
    that is held at once, which may be while loading. ``largest_context``: tokens a stream that
    would still fit, 0 if none do.
    """

    model: str
    architecture: str
    weights: str
    kv: str
    context: int
    streams: int
    num_parameters: int
    active_parameters: int
    weights_bytes: int
    parameter_bytes: int
    allocated_bytes: int
    kv_bytes: int
    kv_allocated_bytes: int
    kv_bytes_per_token: float
    activation_bytes: int
    runtime_bytes: int
    total_bytes: int
    peak_bytes: int
    margin_bytes: int
    available_bytes: int
    fits: bool
    verdict: Verdict
    largest_context: int
    predicted_decode_tokens_per_s: float | None
    predicted_prefill_tokens_per_s: float | None
    reasons: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """Plain values by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Need:
    """Bytes of one context length."""

    allocated: int
    kv: int
    activations: int
    packing: int

    @property
    def total(self) -> int:
        return self.allocated + self.kv + self.activations + RUNTIME_BYTES

    @property
    def peak(self) -> int:
        """The cache is not touched before the weights are packed."""
        return max(self.total, self.allocated + self.packing + RUNTIME_BYTES)


def plan(
    blueprint: Blueprint,
    wish: Wish,
    memory: Memory,
    target: Target,
    ceilings: Ceilings | None = None,
) -> Plan:
    """Work everything out. Raises InvalidRequestError for a wish out of range."""
    setup = _decide(blueprint, wish, target)
    need = _need(blueprint, setup)
    cache = setup.streams * cache_bytes(blueprint.tracks, setup.context, setup.kv)
    alone = parameter_bytes(blueprint.num_parameters, setup.precision)
    verdict = judge(need.peak, memory)
    largest = _largest_context(blueprint, setup, memory)
    decode, prefill = _speeds(blueprint, setup, ceilings)
    return Plan(
        model=blueprint.name,
        architecture=blueprint.model_type,
        weights=setup.precision.value,
        kv=setup.kv.value,
        context=setup.context,
        streams=setup.streams,
        num_parameters=blueprint.num_parameters,
        active_parameters=blueprint.active_parameters,
        weights_bytes=need.allocated if blueprint.is_from_weights else alone,
        parameter_bytes=alone,
        allocated_bytes=need.allocated,
        kv_bytes=cache,
        kv_allocated_bytes=need.kv,
        kv_bytes_per_token=cache / (setup.context * setup.streams),
        activation_bytes=need.activations,
        runtime_bytes=RUNTIME_BYTES,
        total_bytes=need.total,
        peak_bytes=need.peak,
        margin_bytes=margin_bytes(need.peak),
        available_bytes=memory.usable_bytes,
        fits=verdict is Verdict.FITS,
        verdict=verdict,
        largest_context=largest,
        predicted_decode_tokens_per_s=decode,
        predicted_prefill_tokens_per_s=prefill,
        reasons=(
            *explain(need.peak, memory, verdict),
            *_about_context(blueprint, setup.context, largest, verdict),
            *_about_windows(blueprint.tracks, setup.context, need.kv),
            *blueprint.notes,
        ),
    )


def default_kv(precision: Precision, target: Target) -> KVPrecision:
    """The type the engine keeps its cache in for weights of ``precision``."""
    return KVPrecision.FP32 if target.compute_bytes(precision) == 4 else KVPrecision.BF16


def _decide(blueprint: Blueprint, wish: Wish, target: Target) -> Setup:
    precision = resolve_precision(blueprint, wish.weights)
    context = min(blueprint.context_length, DEFAULT_CONTEXT)
    if wish.context is not None:
        context = wish.context
    ranges = {"context": (context, _MOST_TOKENS), "streams": (wish.streams, _MOST_STREAMS)}
    for name, (value, most) in ranges.items():
        if not 0 < value <= most:
            raise InvalidRequestError(
                f"{name} is {value}; choose from 1 to {most}.",
                reason=f"{name} must be from 1 to {most}",
            )
    kv = wish.kv or default_kv(precision, target)
    return Setup(precision, kv, context, wish.streams, target)


def _need(blueprint: Blueprint, setup: Setup) -> _Need:
    return _Need(
        allocated=allocated_bytes(blueprint, setup.precision, setup.target),
        kv=setup.streams * allocated_cache_bytes(blueprint.tracks, setup.context, setup.kv),
        activations=activation_bytes(blueprint, setup),
        packing=packing_bytes(blueprint),
    )


def _speeds(
    blueprint: Blueprint, setup: Setup, ceilings: Ceilings | None
) -> tuple[float | None, float | None]:
    if ceilings is None:
        return None, None
    decode = decode_tokens_per_s(blueprint, setup, ceilings)
    return decode, prefill_tokens_per_s(blueprint, setup, ceilings)


def _largest_context(blueprint: Blueprint, setup: Setup, memory: Memory) -> int:
    """By halving: the need only grows with the context."""
    low, high = 0, blueprint.context_length
    while low < high:
        middle = (low + high + 1) // 2
        need = _need(blueprint, replace(setup, context=middle))
        if judge(need.peak, memory) is Verdict.FITS:
            low = middle
        else:
            high = middle - 1
    return low


def _about_context(
    blueprint: Blueprint, context: int, largest: int, verdict: Verdict
) -> list[str]:
    reasons = []
    if context > blueprint.context_length:
        reasons.append(
            f"The model was trained for {blueprint.context_length:,} tokens; {context:,} go"
            " beyond that."
        )
    if verdict is not Verdict.FITS and largest:
        reasons.append(f"A context of up to {largest:,} tokens a stream would fit.")
    elif verdict is not Verdict.FITS:
        reasons.append("No context would fit; choose fewer bits a weight, or a smaller model.")
    return reasons


def _about_windows(tracks: Iterable[CacheTrack], context: int, allocated: int) -> list[str]:
    capped = any(t.is_paged and t.capacity is not None and t.capacity < context for t in tracks)
    if not capped:
        return []
    sentence = (
        "Some layers look back over a window only; the engine still keeps what it has passed, and"
        f" sets aside {allocated / 1e9:.2f} GB of cache."
    )
    return [sentence]
