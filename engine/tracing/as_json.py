"""A report as plain values by name; times in ms, rates a second."""

from collections.abc import Mapping
from dataclasses import asdict

from engine.api import AnswerReport, CacheUse, Diagnosis, Roofline, RoofPoint, StageTime, Timeline
from engine.metrics import summarise


def report_json(
    report: AnswerReport, ceilings: Mapping[str, object] | None = None
) -> dict[str, object]:
    """All of it; ``ceilings`` stand with the roofline."""
    line = report.timeline
    return {
        "total_ms": (line.end_ns - line.sent_ns) / 1e6,
        "stages": [_stage_json(stage) for stage in report.stages],
        "prefill_chunks": _chunks(report),
        "prompt_tokens": line.num_prompt_tokens,
        "cached_tokens": line.num_cached_tokens,
        "computed_tokens": line.num_prompt_tokens - line.num_cached_tokens,
        "output_tokens": line.num_output_tokens,
        "ttft_ms": line.ttft_ns / 1e6,
        "itl_ms": _itl(report),
        "host": _host(line),
        "kv": _kv(report.cache),
        "roofline": None if report.roofline is None else _roofline(report.roofline, ceilings),
        "machine": None if report.machine is None else asdict(report.machine),
        "diagnosis": diagnosis_json(report.diagnosis),
    }


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


def _stage_json(stage: StageTime) -> dict[str, object]:
    """``start_ms`` after Send, ``duration_ms``, and ``spans`` (start, duration)."""
    return {
        "name": stage.name,
        "start_ms": stage.start_ns / 1e6,
        "duration_ms": stage.duration_ns / 1e6,
        "spans": [[start / 1e6, duration / 1e6] for start, duration in stage.spans],
    }


def _chunks(report: AnswerReport) -> list[dict[str, object]]:
    """Chunks in order; what came from the cache stands with the first."""
    return [
        {
            "start_ms": chunk.start_ns / 1e6,
            "duration_ms": (chunk.end_ns - chunk.start_ns) / 1e6,
            "computed": chunk.num_computed,
            "cached": report.timeline.num_cached_tokens if index == 0 else 0,
        }
        for index, chunk in enumerate(report.chunks)
    ]


def _itl(report: AnswerReport) -> dict[str, object]:
    gaps = report.gaps_ns
    spread = summarise(gaps)
    values: dict[str, object] = {"values": [gap / 1e6 for gap in gaps]}
    for name in ("p50", "p95", "max"):
        values[name] = None if spread is None else getattr(spread, name) / 1e6
    values["stalls"] = [
        {"token": stall.index, "duration_ms": stall.duration_ns / 1e6, "cause": stall.cause.value}
        for stall in report.stalls
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


def _kv(use: CacheUse) -> dict[str, object]:
    return {
        "tokens": use.num_tokens,
        "bytes": use.num_bytes,
        "allocated_bytes": use.allocated_bytes,
        "bytes_per_token": use.bytes_per_token,
        "dtype": use.dtype,
        "budget_bytes": use.budget_bytes,
        "shared_tokens": use.shared_tokens,
        "shared_bytes": use.shared_tokens * use.bytes_per_token,
        "kinds": [
            {
                "kind": kept.kind,
                "layers": kept.layers,
                "bytes": kept.num_bytes,
                "read_bytes": kept.read_bytes,
            }
            for kept in use.kinds
        ],
    }


def _roofline(roofline: Roofline, ceilings: Mapping[str, object] | None) -> dict[str, object]:
    return {
        "ceilings": ceilings,
        "device": roofline.device,
        "threads": roofline.threads,
        "read_bytes_per_s": roofline.read_bytes_per_s,
        "prefill": _point(roofline.prefill),
        "decode": {
            **_point(roofline.decode),
            "bytes_per_token": roofline.decode.num_bytes,
            "weight_bytes_per_token": roofline.decode.num_bytes - roofline.decode.cache_bytes,
            "cache_bytes_per_token": roofline.decode.cache_bytes,
            "flops_per_token": roofline.decode.flops,
        },
    }


def _point(point: RoofPoint) -> dict[str, object]:
    """``bytes`` and ``flops`` of the whole prefill, or of one decoded token."""
    return {
        "bytes": point.num_bytes,
        "flops": point.flops,
        "bytes_per_s": point.bytes_per_s,
        "flops_per_s": point.flops_per_s,
        "ceiling_bytes_per_s": point.bytes_per_s_ceiling,
        "ceiling_flops_per_s": point.flops_per_s_ceiling,
        "arithmetic_intensity": point.intensity,
        "share": point.share,
        "utilisation": point.utilisation,
    }
