"""Context eats batch capacity: how many answers of a length have room in the KV cache at once.

Calculated from the cache's blocks for every length, and checked for some by asking for more answers
than fit and counting those that are given room.
"""

from collections.abc import Mapping

from app.experiments.prompt_length import lengths
from app.experiments.spread import curve
from app.experiments.trials import Ask, Depth, EngineTrial, Reading, Seen, Subject, Trial

CALCULATED, MEASURED = "calculated", "measured"
STREAMS = "streams"
_FIRST = 256
_MOST_STREAMS = 32  # the engine's own limit
_MOST_TOKENS = {Depth.QUICK: 8_192, Depth.FULL: 65_536}  # of all prompts that are read
_NEW = 4_096  # no answer may end while the prompts of others are read


def fitting(subject: Subject, tokens: int) -> int:
    """Answers of ``tokens`` each that have room at once, by the cache's blocks of each kind."""
    return min(_MOST_STREAMS, subject.info.num_fitting(tokens))


def calculated(subject: Subject) -> tuple[Reading, ...]:
    """All lengths up to the context."""
    longest = subject.info.context_length
    return tuple(
        Reading(CALCULATED, float(size), {STREAMS: float(fitting(subject, size))})
        for size in lengths(min(_FIRST, longest), longest)
    )


def plan(subject: Subject) -> tuple[Trial, ...]:
    """Checks of the lengths of which several fit but not as many as the engine lets in."""
    left, trials = _MOST_TOKENS[subject.depth], []
    for reading in reversed(calculated(subject)):
        size, count = int(reading.x), int(reading.values[STREAMS])
        # those that wait are not read
        if not 1 < count < _MOST_STREAMS or size > subject.room or count * size > left:
            continue
        left -= count * size
        ask = Ask(size, min(_NEW, subject.info.context_length - size))
        trials.append(
            EngineTrial(MEASURED, float(size), (ask,) * (count + 2), until_admitted=True)
        )
    return tuple(trials)


def read(_subject: Subject, trial: Trial, seen: Seen) -> tuple[Reading, ...]:
    """How many had room."""
    if not seen.most_running:
        return ()
    return (Reading(trial.series, trial.x, {STREAMS: float(seen.most_running)}),)


def findings(readings: tuple[Reading, ...]) -> Mapping[str, float]:
    """The shortest and the longest length, and how many answers of each have room."""
    spreads = curve(readings, CALCULATED, STREAMS)
    if len(spreads) < 2:
        return {}
    first, last = spreads[0], spreads[-1]
    checked = curve(readings, MEASURED, STREAMS)
    found = {
        "short_tokens": first.x,
        "short_streams": first.middle,
        "long_tokens": last.x,
        "long_streams": last.middle,
        "checked": float(len(checked)),
    }
    known = {spread.x: spread.middle for spread in spreads}
    off = [abs(s.middle - known[s.x]) for s in checked if s.x in known]
    return found | ({"off": max(off)} if off else {})
