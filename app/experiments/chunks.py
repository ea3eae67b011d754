"""Chunked prefill: what a running answer feels while a long prompt is read, by size of the chunks.

The size belongs to a load, so a process of its own measures each.
"""

from collections.abc import Mapping

from app.experiments.spread import curve
from app.experiments.trials import Depth, ProgramTrial, Reading, Seen, Subject, Trial, number_in

SERIES = "chunks"
STALL, ITL, TTFT = "stall_ms", "itl_ms", "ttft_ms"
_SIZES = {
    Depth.QUICK: (32, 128, 512, 2_048),
    Depth.FULL: (16, 32, 64, 128, 256, 512, 1_024, 2_048),
}
_PROMPTS = {Depth.QUICK: 1_024, Depth.FULL: 4_096}
_MORE_ROOM = 512  # of the running answer
_COST = 6_000.0


def plan(subject: Subject) -> tuple[Trial, ...]:
    """Each size up to the whole prompt at once."""
    info = subject.info
    room = info.trained_context_length
    prompt = min(_PROMPTS[subject.depth], room // 2)
    context = min(room, prompt + _MORE_ROOM)
    common = (
        "bench", "--model", info.path, "--threads", str(info.threads),
        "--weights", info.precision.value, "--context", str(context),
        "--prompt-tokens", str(prompt), "--mixed", "--json",
    )  # fmt: skip
    wanted = [size for size in _SIZES[subject.depth] if size < prompt]
    return tuple(
        ProgramTrial(SERIES, float(size), (*common, "--max-batch-tokens", str(size)), "", _COST)
        for size in (*wanted, prompt + 1)
    )


def read(_subject: Subject, trial: Trial, seen: Seen) -> tuple[Reading, ...]:
    """The longest gap of the running answer, its usual one, and the prompt's first token."""
    found = {
        STALL: number_in(seen.printed, "chunks", "stream_beside_itl_ms", "max"),
        ITL: number_in(seen.printed, "chunks", "stream_alone_itl_ms", "p50"),
        TTFT: number_in(seen.printed, "chunks", "prompt_ttft_ms"),
    }
    values = {name: value for name, value in found.items() if value is not None}
    return (Reading(trial.series, trial.x, values),) if STALL in values else ()


def findings(readings: tuple[Reading, ...]) -> Mapping[str, float]:
    """The smallest and the largest chunk: longest gap and time to the first token."""
    stalls, waits = curve(readings, SERIES, STALL), curve(readings, SERIES, TTFT)
    if len(stalls) < 2 or len(waits) < 2:
        return {}
    return {
        "small": stalls[0].x,
        "small_stall_ms": stalls[0].middle,
        "small_ttft_ms": waits[0].middle,
        "large": stalls[-1].x,
        "large_stall_ms": stalls[-1].middle,
        "large_ttft_ms": waits[-1].middle,
    }
