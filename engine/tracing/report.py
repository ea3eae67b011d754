"""A trace as plain values: what ``python -m engine trace --json`` prints and a window shows.

Puts the observation of an answer together and has it diagnosed; measures nothing itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.api import Diagnosis, ModelInfo, Timeline
from engine.diagnosis.observation import MachineState, Observation
from engine.diagnosis.stages import computing_share, reading_share, step_ns
from engine.diagnosis.verdict import diagnose
from engine.metrics import inter_token_latencies, summarise
from engine.tracing.costs import ModelCosts
from engine.tracing.gaps import find_stalls
from engine.tracing.recorder import Trace
from engine.tracing.stages import stages_of, total_ns


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a trace does not know: options the model was loaded with, and what else was watched.

    ``collections``: spans of the garbage collector. ``free_bytes`` of the GPU.
    """

    machine: MachineState
    max_streams: int | None = None
    collections: tuple[tuple[int, int], ...] = ()
    free_bytes: int = 0
    has_gpu_budget: bool = False
    paint_delays_ns: tuple[int, ...] = ()
    num_known_before: int = 0
    keeps_cache: bool = True


def observe(
    trace: Trace, line: Timeline, info: ModelInfo, costs: ModelCosts, around: Circumstances
) -> Observation:
    """Everything a diagnosis needs of an answer; the context is the mean one of its tokens."""
    context = _mean_context(line)
    return Observation(
        timeline=line,
        machine=around.machine,
        itl_ns=tuple(inter_token_latencies(trace.times_ns)),
        step=costs.step(context),
        prefill=costs.prefill(line.num_prompt_tokens, line.num_cached_tokens),
        other_weights=costs.other_weights(context),
        other_kv=costs.other_kv(context),
        more_threads=costs.more_threads(context),
        offload=costs.offload(context, around.free_bytes, is_capped=around.has_gpu_budget),
        num_ahead=trace.num_ahead,
        max_streams=around.max_streams,
        kv_bytes_per_token=info.kv_bytes_per_token,
        kv_budget_bytes=info.kv_budget_bytes,
        num_known_before=around.num_known_before,
        paint_delays_ns=around.paint_delays_ns,
        is_native=costs.is_native,
        keeps_cache=around.keeps_cache,
    )


def report(
    trace: Trace, line: Timeline, info: ModelInfo, costs: ModelCosts, around: Circumstances
) -> dict[str, object]:
    """All of it; times in ms, rates a second."""
    seen = observe(trace, line, info, costs, around)
    return {
        "total_ms": total_ns(line) / 1e6,
        "stages": stages_json(line),
        "prefill_chunks": _chunks(trace, line),
        "prompt_tokens": line.num_prompt_tokens,
        "cached_tokens": line.num_cached_tokens,
        "computed_tokens": line.num_prompt_tokens - line.num_cached_tokens,
        "output_tokens": line.num_output_tokens,
        "ttft_ms": line.ttft_ns / 1e6,
        "itl_ms": _itl(trace, around.collections),
        "host": _host(line),
        "kv": _kv(line, info, costs),
        "roofline": _roofline(trace, seen, costs),
        "diagnosis": diagnosis_json(diagnose(seen)),
    }


def stages_json(line: Timeline) -> list[dict[str, object]]:
    """Each stage: ``start_ms`` after Send, ``duration_ms``, and ``spans`` (start, duration)."""
    return [
        {
            "name": stage.name,
            "start_ms": stage.start_ns / 1e6,
            "duration_ms": stage.duration_ns / 1e6,
            "spans": [[start / 1e6, duration / 1e6] for start, duration in stage.spans],
        }
        for stage in stages_of(line)
    ]


def diagnosis_json(found: Diagnosis) -> dict[str, object]:
    """A diagnosis by name."""
    evidence = found.evidence
    return {
        "class": found.kind.value,
        "sentence": found.text,
        "evidence": None
        if evidence is None
        else {"name": evidence.name, "value": evidence.value, "unit": evidence.unit},
        "remedies": [
            {
                "key": remedy.key,
                "value": remedy.value,
                "gain": remedy.gain,
                "saved_ms": remedy.saved_ns / 1e6,
            }
            for remedy in found.remedies
        ],
        "confidence": found.confidence,
        "candidates": [kind.value for kind in found.candidates],
    }


def _mean_context(line: Timeline) -> int:
    return line.num_prompt_tokens + line.num_output_tokens // 2


def _chunks(trace: Trace, line: Timeline) -> list[dict[str, object]]:
    """Chunks in order; what came from the cache stands with the first."""
    return [
        {
            "start_ms": (chunk.start_ns - line.sent_ns) / 1e6,
            "duration_ms": (chunk.end_ns - chunk.start_ns) / 1e6,
            "computed": chunk.num_tokens,
            "cached": line.num_cached_tokens if index == 0 else 0,
        }
        for index, chunk in enumerate(trace.chunks)
    ]


def _itl(trace: Trace, collections: Iterable[tuple[int, int]]) -> dict[str, object]:
    gaps = inter_token_latencies(trace.times_ns)
    spread = summarise(gaps)
    values: dict[str, object] = {"values": [gap / 1e6 for gap in gaps]}
    for name in ("p50", "p95", "max"):
        values[name] = None if spread is None else getattr(spread, name) / 1e6
    values["stalls"] = [
        {"token": stall.index, "duration_ms": stall.duration_ns / 1e6, "cause": stall.cause.value}
        for stall in find_stalls(trace, collections)
    ]
    return values


def _host(line: Timeline) -> dict[str, object]:
    """Decode inside the model's forward pass and outside it, choosing tokens apart."""
    inside, outside = line.decode_forward_ns, line.decode_host_ns
    return {
        "decode_forward_ms": None if inside is None else inside / 1e6,
        "decode_outside_ms": None if outside is None else outside / 1e6,
        "decode_sampling_ms": line.decode_sample_ns / 1e6,
        "prefill_forward_ms": None
        if line.prefill_forward_ns is None
        else line.prefill_forward_ns / 1e6,
    }


def _kv(line: Timeline, info: ModelInfo, costs: ModelCosts) -> dict[str, object]:
    """This answer's cache at its end; the last token chosen is not in it yet."""
    tokens = line.num_prompt_tokens + line.num_output_tokens - 1
    block = info.kv_block_size
    return {
        "tokens": tokens,
        "bytes": tokens * info.kv_bytes_per_token,
        "allocated_bytes": -(-tokens // block) * block * info.kv_bytes_per_token,
        "bytes_per_token": info.kv_bytes_per_token,
        "dtype": info.kv_dtype,
        "budget_bytes": info.kv_budget_bytes,
        "shared_tokens": line.num_cached_tokens,
        "shared_bytes": line.num_cached_tokens * info.kv_bytes_per_token,
        "kinds": [
            {
                "kind": kept.kind,
                "layers": kept.layers,
                "bytes": kept.num_bytes,
                "read_bytes": kept.read_bytes,
            }
            for kept in costs.kept(tokens)
        ],
    }


def _roofline(trace: Trace, seen: Observation, costs: ModelCosts) -> dict[str, object] | None:
    """Where prefill and decode lie below the ceilings; None without ceilings."""
    step, prefill, ceilings = seen.step, seen.prefill, costs.ceilings
    if step is None or prefill is None or ceilings is None:
        return None
    line = seen.timeline
    flops = costs.token_flops(_mean_context(line)) or 0
    mean_s = step_ns(seen) / 1e9
    chunks = max(1, len(trace.chunks))
    read = chunks * step.weight_bytes + seen.num_computed * seen.kv_bytes_per_token
    prefill_s = line.prefill_ns / 1e9
    return {
        "ceilings": ceilings.as_json(),
        "prefill": {
            "flops": prefill.total_flops,
            "flops_per_s": prefill.total_flops / prefill_s if prefill_s else None,
            "ceiling_flops_per_s": prefill.total_flops / prefill.seconds,
            "share": computing_share(seen),
            "bytes": read,
            "arithmetic_intensity": prefill.total_flops / read,
        },
        "decode": {
            "bytes_per_token": step.num_bytes,
            "weight_bytes_per_token": step.weight_bytes,
            "cache_bytes_per_token": step.cache_bytes,
            "bytes_per_s": step.num_bytes / mean_s if mean_s else None,
            "ceiling_bytes_per_s": step.num_bytes / step.read_s,
            "share": reading_share(seen),
            "flops_per_token": flops,
            "arithmetic_intensity": flops / step.num_bytes,
        },
    }
