"""From an observation to one sentence.

::

    which stage takes most of the time?    none -> unsure
      queue, text, paint                   that one
      prefill    lost cache hits, host, then what slows the processor; else the prompt itself
      decode     offloaded layers, host, what slows the processor; else reading, where proven:
                 of the time in which the engine had its cores, if others had them for some of it

A cause counts if its own figure proves it and no other cause's figure might. Two proven causes, or
one that may be, are "unsure" with both named: a wrong remedy costs more than none. Of the cores that
other programs took and those that the host took, a clearly larger part counts alone.
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
    stolen,
    throttled,
)
from engine.diagnosis.observation import Observation
from engine.diagnosis.remedies import remedies_for
from engine.diagnosis.stages import (
    Shares,
    beside_others,
    computing_share,
    reading_share,
    shares_of,
    taken_share,
    waited_share,
)
from engine.diagnosis.thresholds import (
    AT_CEILING,
    COMPUTING,
    DOMINANT,
    FELT,
    LARGER,
    LEAST_STEPS,
    STOLEN,
    WAITED,
)

_Cause = Callable[[Observation], Finding | None]
_SLOWED: tuple[_Cause, ...] = (throttled, contended, stolen)
_TAKEN = frozenset({DiagnosisKind.CONTENDED, DiagnosisKind.STOLEN})  # by others, here or outside
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
    found = _choose(seen, share, causes)
    is_full = COMPUTING.judge(beside_others(seen, computing_share(seen)))
    if found is None or (is_full and _lacks_cores_at_most(found)):
        return _of_stage(seen, "prefill", share)
    return found


def _of_decode(seen: Observation, share: float) -> Diagnosis:
    if seen.num_steps < LEAST_STEPS:
        sentence = Sentence.FEW_TOKENS
        return _unsure(sentence, {"tokens": float(seen.timeline.num_output_tokens)}, ())
    reading = reading_share(seen)
    found = _choose(seen, share, _causes_of_decode(seen, reading))
    if reading is not None and not AT_CEILING.judge(reading) and _may_lack_cores(seen, found):
        found = _of_shared_cores(seen, share, reading) or found
    return found or _of_reading(seen, share, reading)


def _causes_of_decode(seen: Observation, reading: float | None) -> list[_Cause]:
    """At its ceiling nothing slows a step; far from it anything may."""
    causes: list[_Cause] = [painting, recomputed]
    if seen.offload is not None:
        causes.append(spilled)  # the slower place's ceiling may well be reached
    if not AT_CEILING.judge(reading) and seen.keeps_cache:
        causes += [host_in_decode, *_SLOWED]
        if seen.offload is None:
            causes.append(spilled)
    return causes


def _of_reading(seen: Observation, share: float, reading: float | None) -> Diagnosis:
    """Reading itself, where it takes the time; nothing else can be the cause."""
    if reading is None:
        return _unsure(Sentence.NO_CEILINGS, {}, ())
    is_reading = AT_CEILING.judge(reading)
    if not is_reading:
        maybe = () if is_reading is False else (DiagnosisKind.DECODE_BOUND,)
        return _unsure(Sentence.UNEXPLAINED, {"share": reading}, maybe)
    kind = DiagnosisKind.DECODE_BOUND
    return Diagnosis(
        kind,
        Sentence.READING,
        {"share": min(1.0, reading)},
        Evidence("reading_share", reading, "share"),
        remedies_for(kind, seen),
        min(DOMINANT.confidence(share), AT_CEILING.confidence(reading)),
    )


def _may_lack_cores(seen: Observation, found: Diagnosis | None) -> bool:
    """Whether the engine felt a lack of cores, and nothing else may be the cause."""
    if not seen.keeps_cache or seen.offload is not None:
        return False
    is_felt = (taken_share(seen) or 0.0) >= FELT
    return is_felt and (found is None or _lacks_cores_at_most(found))


def _lacks_cores_at_most(found: Diagnosis) -> bool:
    """Whether nothing is proven, and nothing but a lack of cores is possible."""
    is_proven = found.kind is not DiagnosisKind.UNSURE or found.sentence is Sentence.SEVERAL
    return not is_proven and bool(found.candidates) and _TAKEN.issuperset(found.candidates)


def _of_shared_cores(seen: Observation, share: float, reading: float) -> Diagnosis | None:
    """Decode-bound where reading fills the time in which the engine had its cores.

    None where most of a step is neither reading nor a lack of cores.
    """
    taken = taken_share(seen) or 0.0
    if reading + taken < 0.5:
        return None
    filled = beside_others(seen, reading) or 0.0
    is_filled = AT_CEILING.judge(filled)
    if not (is_filled and LARGER.judge(reading - taken)):
        maybe = [] if is_filled is False else [DiagnosisKind.DECODE_BOUND]
        if WAITED.judge(waited_share(seen) or 0.0) is not False:
            maybe.append(DiagnosisKind.CONTENDED)
        if STOLEN.judge(seen.machine.stolen or 0.0) is not False:
            maybe.append(DiagnosisKind.STOLEN)
        return _unsure(Sentence.DIVIDED, {"share": reading, "waited": taken}, tuple(maybe))
    kind = DiagnosisKind.DECODE_BOUND
    sentence, values = _beside(seen)
    return Diagnosis(
        kind,
        sentence,
        {"share": reading, **values},
        Evidence("reading_share", reading, "share"),
        remedies_for(kind, seen),
        min(DOMINANT.confidence(share), AT_CEILING.confidence(filled)),
    )


def _beside(seen: Observation) -> tuple[Sentence, dict[str, float]]:
    """What is said beside reading: other programs here, or the host, whichever took more."""
    waited, machine = waited_share(seen) or 0.0, seen.machine
    if machine.stolen is not None and machine.stolen > waited:
        return Sentence.READING_STOLEN, {"stolen": machine.stolen}
    return Sentence.READING_BESIDE, {
        "waited": waited,
        "others": machine.other_cores or 0.0,
        "window": machine.own_cores or 0.0,
        "cores": float(machine.cores),
    }


def _choose(seen: Observation, share: float, causes: Iterable[_Cause]) -> Diagnosis | None:
    """The one cause that is proven; unsure where another may be; None where none may be."""
    found = [finding for cause in causes if (finding := cause(seen)) is not None]
    possible = _without_lesser(seen, [f for f in found if f.is_so is not False])
    if not possible:
        return None
    (first, *others) = sorted(possible, key=lambda f: f.confidence, reverse=True)
    if others or not first.is_so:
        if not others:
            sentence = Sentence.ONE_UNPROVEN
        elif not any(finding.is_so for finding in possible):
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


def _without_lesser(seen: Observation, possible: list[Finding]) -> list[Finding]:
    """Without what others took here or outside, where the one is proven and clearly more.

    Both are parts of the same time, so they can be compared; no other two causes can.
    """
    waited = waited_share(seen) or 0.0
    more_here = waited - (1 - waited) * (seen.machine.stolen or 0.0)
    proven = {finding.kind for finding in possible if finding.is_so}
    lesser = None
    if DiagnosisKind.CONTENDED in proven and LARGER.judge(more_here):
        lesser = DiagnosisKind.STOLEN
    elif DiagnosisKind.STOLEN in proven and LARGER.judge(-more_here):
        lesser = DiagnosisKind.CONTENDED
    return [finding for finding in possible if finding.kind is not lesser]


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
