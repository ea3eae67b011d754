"""Answers at once: what all get together, what each feels, and how busy the arithmetic is."""

from collections.abc import Mapping
from itertools import pairwise
from statistics import median

from app.experiments.spread import curve, ratio
from app.experiments.trials import (
    Ask,
    Depth,
    EngineTrial,
    ProgramTrial,
    Reading,
    Seen,
    Subject,
    Trial,
    number_in,
    rate_of,
)
from engine.api import Device

SERIES, CEILINGS = "streams", "ceilings"
RATE, ITL, FLOPS, USE = "rate", "itl_ms", "flops_per_s", "utilisation"
PEAK = "peak_flops_per_s"
_COUNTS = {Depth.QUICK: (1, 2, 4, 8, 16), Depth.FULL: (1, 2, 4, 8, 16, 32)}
_REPEATS = {Depth.QUICK: 2, Depth.FULL: 3}
_PROMPT, _NEW = 32, 48
_PER_PARAMETER = 2  # a multiplication and an addition a token


def plan(subject: Subject) -> tuple[Trial, ...]:
    """What the machine can do at all, then each number of streams."""
    info = subject.info
    most = info.num_fitting(2 * _PROMPT + _NEW)
    counts = [n for n in _COUNTS[subject.depth] if n == 1 or n <= most]
    ask = Ask(min(_PROMPT, subject.room // 2), min(_NEW, subject.room // 2))
    ceilings = ("roofline", "--threads", str(info.threads), "--json")
    trials = [
        EngineTrial(SERIES, float(count), (ask,) * count)
        for _again in range(_REPEATS[subject.depth])
        for count in counts
    ]
    return (ProgramTrial(CEILINGS, 0.0, ceilings), *trials)


def read(subject: Subject, trial: Trial, seen: Seen) -> tuple[Reading, ...]:
    """Speed of all, the middle gap of each, and arithmetic done a second."""
    if isinstance(trial, ProgramTrial):
        peak = _peak(subject, seen.printed)
        return () if peak is None else (Reading(CEILINGS, 0.0, {PEAK: peak}),)
    times = [answer.times_ns for answer in seen.answers]
    rate = rate_of(times)
    gaps = _shared_gaps([answer.times_ns for answer in seen.answers])
    if rate is None or not gaps:
        return ()
    flops = rate * _PER_PARAMETER * subject.info.num_parameters
    return (Reading(SERIES, trial.x, {RATE: rate, ITL: median(gaps), FLOPS: flops}),)


def _peak(subject: Subject, printed: Mapping[str, object]) -> float | None:
    name = f"{subject.info.precision.value}_flops_per_s"
    wanted = "cuda" if subject.info.device is Device.CUDA else "cpu"
    if printed.get("device") == wanted:
        return number_in(printed, name)
    return number_in(printed, "host", name)


def _shared_gaps(times_ns: list[tuple[int, ...]]) -> list[float]:
    """Gaps in the time when every answer has begun and none has ended."""
    if not times_ns or not all(times_ns):
        return []
    start, end = max(t[0] for t in times_ns), min(t[-1] for t in times_ns)
    return [
        (after - before) / 1e6
        for times in times_ns
        for before, after in pairwise(times)
        if before >= start and after <= end
    ]


def with_use(readings: tuple[Reading, ...]) -> tuple[Reading, ...]:
    """The same readings, with the share of the machine's rate where that was measured."""
    peaks = [r.values[PEAK] for r in readings if PEAK in r.values]
    if not peaks or max(peaks) <= 0:
        return readings
    return tuple(
        Reading(r.series, r.x, {**r.values, USE: r.values[FLOPS] / max(peaks)}, r.label)
        if FLOPS in r.values
        else r
        for r in readings
    )


def findings(readings: tuple[Reading, ...]) -> Mapping[str, float]:
    """One stream and the most: their speeds, gaps and shares of the machine's rate."""
    readings = with_use(readings)
    rates, gaps = curve(readings, SERIES, RATE), curve(readings, SERIES, ITL)
    if len(rates) < 2 or not gaps:
        return {}
    found = {
        "streams": rates[-1].x,
        "one_rate": rates[0].middle,
        "all_rate": rates[-1].middle,
        "times": ratio(rates[-1].middle, rates[0].middle),
        "one_ms": gaps[0].middle,
        "all_ms": gaps[-1].middle,
    }
    if uses := curve(readings, SERIES, USE):
        found |= {"one_use": uses[0].middle, "all_use": uses[-1].middle}
    return found
