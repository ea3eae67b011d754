"""How the time between tokens grows with the answer: each new one reads a longer cache."""

from collections.abc import Mapping

from app.experiments.spread import binned, curve, ratio
from app.experiments.trials import Ask, Depth, EngineTrial, Reading, Seen, Subject, Trial

SERIES = "answer"
ITL = "itl_ms"
_PROMPT = 16
_LENGTHS = {Depth.QUICK: 1_536, Depth.FULL: 6_144}
_REPEATS = {Depth.QUICK: 2, Depth.FULL: 3}
_POINTS = 24


def plan(subject: Subject) -> tuple[Trial, ...]:
    """The same length, several times."""
    length = min(_LENGTHS[subject.depth], subject.room - _PROMPT)
    trial = EngineTrial(SERIES, float(length), (Ask(_PROMPT, length),))
    return (trial,) * _REPEATS[subject.depth]


def read(_subject: Subject, trial: Trial, seen: Seen) -> tuple[Reading, ...]:
    """The middle gap of some dozens of neighbours each."""
    return tuple(
        Reading(trial.series, float(round(place)), {ITL: gap})
        for answer in seen.answers
        for place, gap in binned(answer.gaps_ms, _POINTS)
    )


def findings(readings: tuple[Reading, ...]) -> Mapping[str, float]:
    """The gap at the beginning and at the end (means of three points), and their ratio."""
    spreads = curve(readings, SERIES, ITL)
    if len(spreads) < 6:
        return {}
    start, end = (sum(s.middle for s in part) / 3 for part in (spreads[:3], spreads[-3:]))
    return {
        "tokens": spreads[-1].x,
        "first_ms": start,
        "last_ms": end,
        "times": ratio(end, start),
    }
