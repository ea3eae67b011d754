"""``python -m engine plan`` and ``roofline``: what a model will take, and what this machine gives.

Estimates carry "~". A plan needs the machine's ceilings for its speeds; they are measured once
and kept, and ``--no-speed`` does without.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from engine.api import Device, KVPrecision, Precision
from engine.planner.find import find_blueprint
from engine.planner.machine import look_at_machine
from engine.planner.plan import Plan, plan
from engine.planner.wish import Wish
from engine.roofline.ceilings import (
    Ceilings,
    best_of,
    cache_path,
    path_for,
    read_ceilings,
    write_ceilings,
)
from engine.roofline.kept import ceilings_of

_KV_ALIASES = {"fp16": KVPrecision.BF16.value}  # 16 bits are 16 bits
_MEASURING = "Measuring this machine once; this takes some seconds."


def run_plan(options: argparse.Namespace) -> int:
    """Run the command; returns the exit code. Raises EngineError."""
    blueprint = find_blueprint(options.model)
    wish = Wish(
        weights=Precision(options.weights),
        kv=KVPrecision(_KV_ALIASES.get(options.kv, options.kv)),
        context=options.context,
        streams=options.streams,
        gpu_budget=options.gpu_budget,
    )
    is_regular = wish.weights is not Precision.BF16 and blueprint.is_regular
    machine = look_at_machine(Device(options.device), options.bytes_to_free, is_regular=is_regular)
    ceilings = None if options.no_speed else _ceilings(options.roofline)
    result = plan(blueprint, wish, machine, ceilings)
    print(json.dumps(result.as_json()) if options.json else describe(result))
    return 0


def run_roofline(options: argparse.Namespace) -> int:
    """Measure, keep and print the best seen on this machine; returns the exit code."""
    from engine.roofline.measuring import measure  # noqa: PLC0415 - imports torch

    threads = options.threads
    path = options.roofline or (cache_path() if threads is None else path_for(threads))
    measured = best_of(read_ceilings(path), measure(threads))
    write_ceilings(measured, path)
    values = measured.as_json()
    if options.json:
        print(json.dumps(values))
        return 0
    print(_table(values))
    return 0


def _table(values: Mapping[str, object]) -> str:
    """A figure a line; those of the computer around a GPU after the GPU's."""
    width = max(map(len, values))
    lines = [
        f"{name:<{width}}  {_rate(name, value)}"
        for name, value in values.items()
        if value is not None and not isinstance(value, dict)
    ]
    host = values.get("host")
    if isinstance(host, dict):
        lines += ["", _table(host)]
    return "\n".join(lines)


def _ceilings(path: Path | None) -> Ceilings:
    path = path or cache_path()
    if not path.exists():
        print(_MEASURING, file=sys.stderr)
    return ceilings_of(path)


def describe(result: Plan) -> str:
    """The plan for people: one figure a line, then the reasons."""
    decode, prefill = result.predicted_decode_tokens_per_s, result.predicted_prefill_tokens_per_s
    rows = [
        ("model", f"{result.model} ({result.architecture})"),
        ("parameters", f"{result.num_parameters / 1e9:.3f} billion"),
        ("weights", f"~{_gb(result.allocated_bytes)} as allocated in {result.weights.upper()}"),
        ("", f"~{_gb(result.parameter_bytes)} for the parameters alone"),
        ("KV cache", f"~{_gb(result.kv_bytes)} in {result.kv.upper()}, {_tokens(result)}"),
        ("", f"~{_gb(result.kv_allocated_bytes)} as allocated"),
        ("", f"~{result.kv_bytes_per_token / 2**20:.4g} MiB a token"),
        ("activations", f"~{_gb(result.activation_bytes)}"),
        ("runtime", f"~{_gb(result.runtime_bytes)}"),
        ("total", f"~{_gb(result.total_bytes)}, at most ~{_gb(result.peak_bytes)} while loading"),
        ("verdict", result.verdict.value.replace("_", " ")),
    ]
    if decode is not None and prefill is not None:
        rows += [("decode", f"~{decode:.4g} tokens/s"), ("prefill", f"~{prefill:.4g} tokens/s")]
    lines = [f"{name:<12}{value}" for name, value in rows]
    return "\n".join([*lines, *result.reasons])


def _tokens(result: Plan) -> str:
    streams = "1 stream" if result.streams == 1 else f"{result.streams} streams"
    return f"{streams} of {result.context:,} tokens"


def _gb(num_bytes: int) -> str:
    """GB for the textbook's comparison, GiB for the system's."""
    return f"{num_bytes / 1e9:.2f} GB ({num_bytes / 2**30:.2f} GiB)"


def _rate(name: str, value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    if not name.endswith("_per_s"):
        return f"{value * 1e6:.2f} us"
    unit = "GFLOP/s" if "flops" in name else "GB/s"
    return f"{value / 1e9:.1f} {unit}"
