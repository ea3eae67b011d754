"""From an observation to one sentence.

::

    which stage takes most of the time?    none -> unsure
      queue, text, paint                   that one
      prefill    lost cache hits, host, then what slows the processor; else the prompt itself
      decode     offloaded layers, host, what slows the processor; else reading, where proven

A cause counts if its own figure proves it and no other cause's figure might. Two proven causes, or
one that may be, are "unsure" with both named: a wrong remedy costs more than none.
"""

from collections.abc import Callable, Iterable

from engine.api import Diagnosis, DiagnosisKind, Evidence, Sentence
from engine.diagnosis.causes import (
    Finding,
    contended,
    host_in_decode,
    host_in_prefill,
    missed,
    painting,
    recomputed,
    spilled,
    throttled,
)
from engine.diagnosis.observation import Observation
from engine.diagnosis.remedies import remedies_for
from engine.diagnosis.stages import Shares, computing_share, reading_share, shares_of
from engine.diagnosis.thresholds import AT_CEILING, COMPUTING, DOMINANT, LEAST_STEPS

_Cause = Callable[[Observation], Finding | None]
_SLOWED: tuple[_Cause, ...] = (throttled, contended)
_STAGES = {
    "queue": (
        DiagnosisKind.QUEUE_BOUND,
        Sentence.QUEUE,
    ),
    "text": (
        DiagnosisKind.HOST_BOUND,
        Sentence.TEXT,
    ),
    "prefill": (
        DiagnosisKind.PREFILL_BOUND,
        Sentence.PREFILL,
    ),
    "paint": (
        DiagnosisKind.PAINT_BOUND,
        Sentence.PAINT,
    ),
}


def diagnose(seen: Observation) -> Diagnosis:
    """Say what held the answer up, and what would help. Pure: the same observation, the same words."""
    shares = shares_of(seen)
    stage = shares.largest
    share = float(getattr(shares, stage))
    if not DOMINANT.judge(share):
        return _no_stage(shares)
    match stage:
        case "prefill":
            return _of_prefill(seen, share)
        case "decode":
            return _of_decode(seen, share)
        case _:
            return _of_stage(seen, stage, share)


def _of_stage(seen: Observation, stage: str, share: float) -> Diagnosis:
    """The stage itself is the cause."""
    kind, sentence = _STAGES[stage]
    return Diagnosis(
        kind,
        sentence,
        {"ms": share * seen.total_ns / 1e6, "share": share},
        Evidence(f"{stage}_share", share, "share"),
        remedies_for(kind, seen),
        DOMINANT.confidence(share),
    )


def _of_prefill(seen: Observation, share: float) -> Diagnosis:
    causes: list[_Cause] = [missed, host_in_prefill]
    if not COMPUTING.judge(computing_share(seen)):  # at its ceiling nothing slows it
        causes += _SLOWED
    return _choose(seen, share, causes) or _of_stage(seen, "prefill", share)


def _of_decode(seen: Observation, share: float) -> Diagnosis:
    if seen.num_steps < LEAST_STEPS:
        sentence = Sentence.FEW_TOKENS
        return _unsure(sentence, {"tokens": float(seen.timeline.num_output_tokens)}, ())
    reading = reading_share(seen)
    is_reading = AT_CEILING.judge(reading)
    causes: list[_Cause] = [painting, recomputed]
    if seen.offload is not None:
        causes.append(spilled)  # the slower place's ceiling may well be reached
    if not is_reading and seen.keeps_cache:
        causes += [host_in_decode, *_SLOWED]
        if seen.offload is None:
            causes.append(spilled)
    if (found := _choose(seen, share, causes)) is not None:
        return found
    if reading is None:
        return _unsure(Sentence.NO_CEILINGS, {}, ())
    if not is_reading:
        sentence = Sentence.UNEXPLAINED
        maybe = () if is_reading is False else (DiagnosisKind.DECODE_BOUND,)
        return _unsure(sentence, {"share": reading}, maybe)
    sentence = Sentence.READING
    return Diagnosis(
        DiagnosisKind.DECODE_BOUND,
        sentence,
        {"share": min(1.0, reading)},
        Evidence("reading_share", reading, "share"),
        remedies_for(DiagnosisKind.DECODE_BOUND, seen),
        min(DOMINANT.confidence(share), AT_CEILING.confidence(reading)),
    )


def _choose(seen: Observation, share: float, causes: Iterable[_Cause]) -> Diagnosis | None:
    """The one cause that is proven; unsure where another may be; None where none may be."""
    found = [finding for cause in causes if (finding := cause(seen)) is not None]
    possible = [finding for finding in found if finding.is_so is not False]
    if not possible:
        return None
    (first, *others) = sorted(possible, key=lambda f: f.confidence, reverse=True)
    if others or not first.is_so:
        if not any(finding.is_so for finding in possible):
            sentence = Sentence.NONE_PROVEN
        else:
            sentence = Sentence.SEVERAL
        return _unsure(sentence, {}, tuple(finding.kind for finding in possible))
    return Diagnosis(
        first.kind,
        first.sentence,
        first.values,
        first.evidence,
        remedies_for(first.kind, seen),
        min(DOMINANT.confidence(share), first.confidence),
    )


def _no_stage(shares: Shares) -> Diagnosis:
    sentence = Sentence.NO_STAGE
    values = {"queue": shares.queue, "prefill": shares.prefill, "decode": shares.decode}
    named = {
        "queue": DiagnosisKind.QUEUE_BOUND,
        "prefill": DiagnosisKind.PREFILL_BOUND,
        "decode": DiagnosisKind.DECODE_BOUND,
        "text": DiagnosisKind.HOST_BOUND,
        "paint": DiagnosisKind.PAINT_BOUND,
    }
    large = [kind for name, kind in named.items() if getattr(shares, name) >= 0.25]
    return _unsure(sentence, values, tuple(large))


def _unsure(
    sentence: Sentence, values: dict[str, float], candidates: tuple[DiagnosisKind, ...]
) -> Diagnosis:
    return Diagnosis(DiagnosisKind.UNSURE, sentence, values, candidates=candidates)
