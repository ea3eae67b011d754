"""The whole answer for one model: bytes, verdict, speed and the reasons, before it is loaded.

``weights_bytes`` follows what is at hand. For a model whose weights are there (a GGUF file, a
folder with .safetensors files) it is what the engine will allocate, scales and all. For a
configuration alone (a shipped name, a config.json) it is the textbook's figure, bits a parameter.
``parameter_bytes`` and ``allocated_bytes`` say both in every case. ``kv_bytes`` is what the
model's attention needs, windows capped; ``kv_allocated_bytes`` what the engine's pools set aside
for it, a step's tokens and whole blocks included. The verdict and ``total_bytes`` always count what
is allocated::

    total = allocated + kv_allocated + activations + runtime
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from engine.model.footprint.blueprint import Blueprint
from engine.model.footprint.cache import CacheTrack, cache_bytes
from engine.model.footprint.weights import parameter_bytes
from engine.planner.machine import Machine
from engine.planner.outlook import Outlook
from engine.planner.room import Verdict, margin_bytes
from engine.planner.speed import decode_tokens_per_s, prefill_tokens_per_s
from engine.planner.wish import Wish
from engine.roofline.ceilings import Ceilings


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
    cpu_layers: int
    reasons: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """Plain values by name."""
        return asdict(self)


def plan(
    blueprint: Blueprint, wish: Wish, machine: Machine, ceilings: Ceilings | None = None
) -> Plan:
    """Work everything out. Raises InvalidRequestError for a wish out of range."""
    outlook = Outlook(blueprint, wish, machine)
    needed, setup, verdict = outlook.needed, outlook.setup, outlook.verdict
    cache = setup.streams * cache_bytes(blueprint.tracks, setup.context, setup.kv)
    alone = parameter_bytes(blueprint.num_parameters, setup.precision)
    decode, prefill = _speeds(blueprint, outlook, ceilings)
    largest = outlook.largest_context()
    return Plan(
        model=blueprint.name,
        architecture=blueprint.model_type,
        weights=setup.precision.value,
        kv=setup.kv.value,
        context=setup.context,
        streams=setup.streams,
        num_parameters=blueprint.num_parameters,
        active_parameters=blueprint.active_parameters,
        weights_bytes=needed.weights if blueprint.is_from_weights else alone,
        parameter_bytes=alone,
        allocated_bytes=needed.weights,
        kv_bytes=cache,
        kv_allocated_bytes=needed.kv,
        kv_bytes_per_token=cache / (setup.context * setup.streams),
        activation_bytes=needed.activations,
        runtime_bytes=needed.runtime,
        total_bytes=needed.total,
        peak_bytes=needed.peak,
        margin_bytes=margin_bytes(needed.peak),
        available_bytes=outlook.available_bytes,
        fits=verdict is Verdict.FITS,
        verdict=verdict,
        largest_context=largest,
        predicted_decode_tokens_per_s=decode,
        predicted_prefill_tokens_per_s=prefill,
        cpu_layers=outlook.cpu_layers,
        reasons=(
            *outlook.reasons(),
            *_about_context(blueprint, setup.context, largest, verdict),
            *_about_windows(blueprint.tracks, setup.context, needed.kv),
            *blueprint.notes,
        ),
    )


def _speeds(
    blueprint: Blueprint, outlook: Outlook, ceilings: Ceilings | None
) -> tuple[float | None, float | None]:
    if ceilings is None:
        return None, None
    parts = outlook.parts()
    decode = decode_tokens_per_s(blueprint, parts, ceilings)
    return decode, prefill_tokens_per_s(blueprint, parts, ceilings)


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
        "Some layers look back over a window only and give back what it has passed:"
        f" {allocated / 1e9:.2f} GB of cache are set aside."
    )
    return [sentence]
