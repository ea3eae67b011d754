"""How long the first token takes after prompts of growing length, none of it from a cache."""

from collections.abc import Mapping

from app.experiments.spread import curve, ratio
from app.experiments.trials import (
    NS_PER_MS,
    Ask,
    Depth,
    EngineTrial,
    Reading,
    Seen,
    Subject,
    Trial,
)

SERIES = "prompt"
TTFT, RATE, TOKENS, CACHED = "ttft_ms", "prefill_rate", "prompt_tokens", "cached_tokens"
_FIRST = 64
_LONGEST = {Depth.QUICK: 2_048, Depth.FULL: 16_384}
_REPEATS = {Depth.QUICK: 2, Depth.FULL: 3}


def lengths(first: int, last: int) -> list[int]:
    """Doubling from ``first`` up to ``last``, which is the end where it is no double."""
    found = []
    while first < last:
        found.append(first)
        first *= 2
    return [*found, last]


def plan(subject: Subject) -> tuple[Trial, ...]:
    """Each length, and all of that again."""
    longest = min(_LONGEST[subject.depth], subject.room - 2)
    sizes = lengths(min(_FIRST, longest), longest)
    return tuple(
        EngineTrial(SERIES, float(size), (Ask(size, 1),))
        for _again in range(_REPEATS[subject.depth])
        for size in sizes
    )


def read(_subject: Subject, trial: Trial, seen: Seen) -> tuple[Reading, ...]:
    """The time to the first token as the engine chose it, and the prompt's speed."""
    readings = []
    for line in (answer.timeline for answer in seen.answers):
        if line is None:
            continue
        values = {
            TTFT: line.ttft_ns / NS_PER_MS,
            TOKENS: float(line.num_prompt_tokens),
            CACHED: float(line.num_cached_tokens),
        }
        if (rate := line.prefill_tokens_per_s) is not None:
            values[RATE] = rate
        readings.append(Reading(trial.series, trial.x, values))
    return tuple(readings)


def findings(readings: tuple[Reading, ...]) -> Mapping[str, float]:
    """The shortest and the longest: ``tokens``, ``ttft_ms``; ``growth``: ms for 1,000 more."""
    spreads = curve(readings, SERIES, TTFT, TOKENS)
    if len(spreads) < 2:
        return {}
    first, last = spreads[0], spreads[-1]
    return {
        "short_tokens": first.x,
        "short_ms": first.middle,
        "long_tokens": last.x,
        "long_ms": last.middle,
        "growth_ms": ratio(1_000 * (last.middle - first.middle), last.x - first.x),
    }
