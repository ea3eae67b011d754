"""Guessing tokens ahead, on and off: on text that repeats itself, and on text that does not.

Where no draft is set, a process of its own tries the n-grams of what was said before.
"""

from collections.abc import Mapping

from app.experiments.spread import curve
from app.experiments.trials import (
    Ask,
    Depth,
    EngineTrial,
    ProgramTrial,
    Reading,
    Seen,
    Subject,
    Text,
    Trial,
    number_in,
    rate_of,
)

PLAIN, AHEAD = "plain", "ahead"
RATE, ACCEPTED = "rate", "acceptance"
NGRAMS = "ngrams"
_PLACES = {Text.REPEATING.value: 0.0, Text.PROSE.value: 1.0, NGRAMS: 2.0}
_PROMPT, _NEW = 128, 128
_REPEATS = {Depth.QUICK: 2, Depth.FULL: 5}


def plan(subject: Subject) -> tuple[Trial, ...]:
    """Both kinds of text, with and without guesses."""
    if not subject.info.draft:
        return (ProgramTrial(AHEAD, _PLACES[NGRAMS], _bench(subject), NGRAMS),)
    new = min(_NEW, subject.room // 2)
    prompt = min(_PROMPT, subject.room - new)
    return tuple(
        EngineTrial(
            series,
            _PLACES[text.value],
            (Ask(prompt, new, guess_ahead=series == AHEAD, text=text),),
            text.value,
        )
        for _again in range(_REPEATS[subject.depth])
        for text in (Text.REPEATING, Text.PROSE)
        for series in (PLAIN, AHEAD)
    )


def _bench(subject: Subject) -> tuple[str, ...]:
    info = subject.info
    context = min(1_024, info.trained_context_length)
    new = _NEW * (2 if subject.depth is Depth.FULL else 1)
    return (
        "bench", "--model", info.path, "--threads", str(info.threads),
        "--weights", info.precision.value, "--context", str(context),
        "--prompt-tokens", str(min(_PROMPT, context // 4)),
        "--new-tokens", str(min(new, context // 2)), "--spec", "ngram", "--json",
    )  # fmt: skip


def read(_subject: Subject, trial: Trial, seen: Seen) -> tuple[Reading, ...]:
    """Speed, and with guesses the part of them that was right."""
    if isinstance(trial, ProgramTrial):
        return _read_program(trial, seen.printed)
    rate = rate_of([answer.times_ns for answer in seen.answers])
    if rate is None:
        return ()
    values = {RATE: rate}
    lines = [answer.timeline for answer in seen.answers if answer.timeline is not None]
    drafted = sum(line.num_drafted_tokens for line in lines)
    if drafted:
        values[ACCEPTED] = sum(line.num_accepted_tokens for line in lines) / drafted
    return (Reading(trial.series, trial.x, values, trial.label),)


def _read_program(trial: Trial, printed: Mapping[str, object]) -> tuple[Reading, ...]:
    plain = number_in(printed, "decode_tokens_per_s")
    ahead = number_in(printed, "guessing_decode_tokens_per_s")
    if plain is None or ahead is None:
        return ()
    values = {RATE: ahead}
    if (accepted := number_in(printed, "acceptance")) is not None:
        values[ACCEPTED] = accepted
    return (
        Reading(PLAIN, trial.x, {RATE: plain}, trial.label),
        Reading(AHEAD, trial.x, values, trial.label),
    )


def findings(readings: tuple[Reading, ...]) -> Mapping[str, float]:
    """For each kind of text that was measured, how many times as fast: by its name."""
    plain = {s.label: s.middle for s in curve(readings, PLAIN, RATE)}
    ahead = {s.label: s.middle for s in curve(readings, AHEAD, RATE)}
    return {name: ahead[name] / plain[name] for name in ahead if plain.get(name)}
