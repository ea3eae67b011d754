"""The same answer with the KV cache and without it: how long each token takes, and all so far."""

from collections.abc import Mapping

from app.experiments.spread import binned, curve
from app.experiments.trials import (
    NS_PER_MS,
    AnswerSeen,
    Ask,
    Depth,
    EngineTrial,
    Reading,
    Seen,
    Subject,
    Trial,
)

KEPT, ANEW = "kept", "anew"
GAP, TOTAL = "gap_ms", "total_ms"
_PROMPT = 16
_LENGTHS = {Depth.QUICK: 256, Depth.FULL: 1_000}
_POINTS = 40


def plan(subject: Subject) -> tuple[Trial, ...]:
    """One answer each way."""
    length = min(_LENGTHS[subject.depth], subject.room - _PROMPT)
    return tuple(
        EngineTrial(name, float(length), (Ask(_PROMPT, length, kv_cache=name == KEPT),))
        for name in (KEPT, ANEW)
    )


def read(_subject: Subject, trial: Trial, seen: Seen) -> tuple[Reading, ...]:
    """Both curves over the tokens of the answer."""
    return tuple(r for answer in seen.answers for r in _curves(trial.series, answer))


def _curves(series: str, answer: AnswerSeen) -> list[Reading]:
    times = answer.times_ns
    readings = []
    for place, gap in binned(answer.gaps_ms, _POINTS):
        # the gap before token n + 1 is the n-th; the time so far is that of the token itself
        token = round(place) + 1
        so_far = (times[token - 1] - times[0]) / NS_PER_MS
        readings.append(Reading(series, float(token), {GAP: gap, TOTAL: so_far}))
    return readings


def findings(readings: tuple[Reading, ...]) -> Mapping[str, float]:
    """``tokens`` both have, what they took (``kept_ms``, ``anew_ms``), and ``times`` as long."""
    kept, anew = (curve(readings, name, TOTAL) for name in (KEPT, ANEW))
    shared = {spread.x for spread in kept} & {spread.x for spread in anew}
    if not shared:
        return {}
    last = max(shared)
    ends = [next(s.middle for s in spreads if s.x == last) for spreads in (kept, anew)]
    if not all(ends):
        return {}
    return {"tokens": last, "kept_ms": ends[0], "anew_ms": ends[1], "times": ends[1] / ends[0]}
