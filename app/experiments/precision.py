"""The same model with narrower weights, or a narrower cache: speed, memory, and what it loses.

Each needs a load of its own, so the engine's command line measures it in a process of its own.
"""

from collections.abc import Mapping

from app.experiments.spread import curve, ratio
from app.experiments.trials import (
    Depth,
    ProgramTrial,
    Reading,
    Seen,
    Subject,
    Trial,
    number_in,
)
from engine.api import KVPrecision

SPEED, QUALITY = "speed", "quality"
DECODE, PREFILL, BYTES = "decode_rate", "prefill_rate", "bytes"
AGREEMENT, DIVERGENCE = "top1_agreement", "mean_kl"
CALIBRATED = "int4-calibrated"
WEIGHTS = ("int4", CALIBRATED, "int8", "bf16", "fp32")  # narrowest first
CACHES = (KVPrecision.INT4, KVPrecision.INT8, KVPrecision.BF16, KVPrecision.FP32)
_PROMPT, _NEW, _CONTEXT = 256, 64, 1_024
_KV_PROMPTS = {Depth.QUICK: 1_536, Depth.FULL: 6_144}
_LOADS = {Depth.QUICK: 1, Depth.FULL: 2}
_EVAL_COST = 12_000.0
_KEPT = {"int4": "int4", "int8": "int8", "bfloat16": "bf16", "float16": "bf16", "float32": "fp32"}


def _bench(subject: Subject, prompt: int, new: int, context: int) -> tuple[str, ...]:
    info = subject.info
    context = min(context, info.trained_context_length)
    return (
        "bench", "--model", info.path, "--threads", str(info.threads),
        "--prompt-tokens", str(min(prompt, context - new - 2)), "--new-tokens", str(new),
        "--context", str(context), "--json",
    )  # fmt: skip


def plan_weights(subject: Subject) -> tuple[Trial, ...]:
    """Speed of each precision; with FULL also the quality of those not measured yet."""
    bench = _bench(subject, _PROMPT, _NEW, _CONTEXT)
    weights = _weights(subject)
    trials = [
        ProgramTrial(SPEED, float(n), (*bench, "--weights", name), name)
        for _again in range(_LOADS[subject.depth])
        for n, name in weights
    ]
    if subject.depth is Depth.FULL:
        trials += [
            ProgramTrial(QUALITY, float(n), _eval(subject, "--weights", name), name, _EVAL_COST)
            for n, name in weights
            if name not in subject.losses
        ]
    return tuple(trials)


def _weights(subject: Subject) -> list[tuple[int, str]]:
    """Those that need no minutes of calibration first, with their places."""
    has_calibration = subject.info.is_calibrated or CALIBRATED in subject.losses
    return [(n, name) for n, name in enumerate(WEIGHTS) if has_calibration or name != CALIBRATED]


def _eval(subject: Subject, *options: str) -> tuple[str, ...]:
    return ("eval", "--model", subject.info.path, *options, "--json", "--progress")


def known_losses(subject: Subject) -> tuple[Reading, ...]:
    """Quality that was measured before, in the settings."""
    return tuple(
        Reading(QUALITY, float(n), subject.losses[name], name)
        for n, name in enumerate(WEIGHTS)
        if subject.losses.get(name)
    )


def plan_cache(subject: Subject) -> tuple[Trial, ...]:
    """Speed with each kind of cache behind a long prompt; with FULL the quality, too."""
    prompt = min(_KV_PROMPTS[subject.depth], subject.room - _NEW - 2)
    bench = _bench(subject, prompt, _NEW, prompt + _NEW + 64)
    weights = ("--weights", subject.info.precision.value)
    trials = [
        ProgramTrial(SPEED, float(n), (*bench, *weights, "--kv", kind.value), kind.value)
        for _again in range(_LOADS[subject.depth])
        for n, kind in enumerate(CACHES)
    ]
    if subject.depth is Depth.FULL:
        trials += [
            ProgramTrial(
                QUALITY,
                float(n),
                _eval(subject, *weights, "--kv", kind.value),
                kind.value,
                _EVAL_COST,
            )
            for n, kind in enumerate(CACHES)
        ]
    return tuple(trials)


def read_weights(_subject: Subject, trial: Trial, seen: Seen) -> tuple[Reading, ...]:
    """Speeds and the weights' bytes, or the quality."""
    return _read(trial, seen, "weights_bytes")


def read_cache(_subject: Subject, trial: Trial, seen: Seen) -> tuple[Reading, ...]:
    """Speeds and the cache's bytes a token, or the quality."""
    kept = seen.printed.get("kv")
    if trial.series == SPEED and isinstance(kept, str) and _KEPT.get(kept) != trial.label:
        return ()  # the model's heads allow another kind only, which has its own trial
    return _read(trial, seen, "kv_bytes_per_token")


def _read(trial: Trial, seen: Seen, num_bytes: str) -> tuple[Reading, ...]:
    names = {
        SPEED: {
            DECODE: "decode_tokens_per_s",
            PREFILL: "prefill_tokens_per_s",
            BYTES: num_bytes,
        },
        QUALITY: {AGREEMENT: "top1_agreement", DIVERGENCE: "mean_kl"},
    }
    found = {name: number_in(seen.printed, key) for name, key in names[trial.series].items()}
    values = {name: value for name, value in found.items() if value is not None}
    return (Reading(trial.series, trial.x, values, trial.label),) if values else ()


def findings(readings: tuple[Reading, ...]) -> Mapping[str, float]:
    """The narrowest against the widest: speed and bytes; ``agreement`` of the narrowest."""
    speeds, sizes = curve(readings, SPEED, DECODE), curve(readings, SPEED, BYTES)
    if len(speeds) < 2 or len(sizes) < 2:
        return {}
    found = {
        "narrow": speeds[0].x,
        "wide": speeds[-1].x,
        "narrow_rate": speeds[0].middle,
        "wide_rate": speeds[-1].middle,
        "times": ratio(speeds[0].middle, speeds[-1].middle),
        "narrow_bytes": sizes[0].middle,
        "wide_bytes": sizes[-1].middle,
    }
    qualities = {spread.x: spread.middle for spread in curve(readings, QUALITY, AGREEMENT)}
    if (agreement := qualities.get(speeds[0].x)) is not None:
        found["agreement"] = agreement
    return found
