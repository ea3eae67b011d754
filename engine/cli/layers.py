"""A profile of the model as ``trace --layers`` prints it."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.api import LayerTime, Part, PassProfile


def profile_json(profile: PassProfile) -> dict[str, object]:
    """By name; times in ms, a decode step's and the whole prompt's."""
    return {
        "context": profile.context,
        "prompt_tokens": profile.prompt_tokens,
        "num_steps": profile.num_steps,
        "decode_ms": profile.decode_ns / 1e6,
        "prefill_ms": profile.prefill_ns / 1e6,
        "decode": _times(profile.decode),
        "prefill": _times(profile.prefill),
    }


def describe_layers(values: Mapping[str, Any]) -> list[str]:
    """For people, of what ``profile_json`` gave: a line a part, all layers together."""
    passes = ((values["decode"], values["decode_ms"]), (values["prefill"], values["prefill_ms"]))
    lines = [f"{'':<13}{'a step':>13}{'':>7}{'the prompt':>13}"]
    for part in Part:
        sums = [sum(t["ms"] for t in times if t["part"] == part) for times, _ in passes]
        if any(sums):
            cells = (
                f"{ms:>10.3f} ms{ms / max(1e-9, total):>7.1%}"
                for ms, (_, total) in zip(sums, passes, strict=True)
            )
            lines.append(f"{part.value:<13}{''.join(cells)}")
    return lines


def _times(times: Sequence[LayerTime]) -> list[dict[str, object]]:
    return [
        {"layer": time.layer, "part": time.part.value, "ms": time.nanoseconds / 1e6}
        for time in times
    ]
