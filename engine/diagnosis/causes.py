"""Causes below the stages: each looks at one figure, and says yes, no, or that it cannot tell."""

from dataclasses import dataclass

from engine.api import DiagnosisKind, Evidence, MissKind, Sentence
from engine.diagnosis.observation import MachineState, Observation
from engine.diagnosis.stages import (
    decode_host_share,
    lost_share,
    num_lost,
    prefill_host_share,
)
from engine.diagnosis.thresholds import (
    HOST,
    LEAST_PAINT_NS,
    MISSED,
    NEAR_LIMIT_C,
    OFFLOADED,
    OVERCOMMITTED,
    PAINTING,
    SLOWED_KNOWN,
    SLOWED_PLAIN,
    STOLEN,
    SWAPPED,
    WAITED,
    Band,
)
from engine.metrics import percentile

# nothing that was known before was lost: a first turn has to be computed
_UNAVOIDABLE = frozenset({MissKind.FIRST_TURN, MissKind.SHORT})


@dataclass(frozen=True, slots=True)
class Finding:
    """``is_so`` None: it may be. ``sentence`` has named places for ``values``."""

    kind: DiagnosisKind
    is_so: bool | None
    confidence: float
    evidence: Evidence
    sentence: Sentence
    values: dict[str, float]


def spilled(seen: Observation) -> Finding | None:
    """Layers beside the GPU, or bytes read back from swap; None where neither is known of."""
    if seen.offload is not None and seen.offload.host_bytes:
        share = seen.offload.host_s / seen.offload.step_s
        sentence = Sentence.OFFLOADED
        return _finding(DiagnosisKind.MEMORY_SPILLED, OFFLOADED, share, "offloaded", sentence)
    swapped = seen.machine.swapped_in_bytes
    if not swapped or seen.step is None:
        return None
    share = swapped / max(1, seen.num_steps) / seen.step.num_bytes
    sentence = Sentence.SWAPPED
    return _finding(DiagnosisKind.MEMORY_SPILLED, SWAPPED, share, "swapped", sentence)


def throttled(seen: Observation) -> Finding | None:
    """A processor far below its highest frequency; None where frequencies are not known."""
    machine = seen.machine
    if machine.mhz_now is None or not machine.mhz_max:
        return None
    missing = 1 - machine.mhz_now / machine.mhz_max
    band = SLOWED_KNOWN if _is_throttling_likely(machine) else SLOWED_PLAIN
    return Finding(
        DiagnosisKind.THROTTLED,
        band.judge(missing),
        band.confidence(missing),
        Evidence("frequency", machine.mhz_now, "mhz"),
        Sentence.THROTTLED,
        {"now": machine.mhz_now, "most": machine.mhz_max},
    )


def contended(seen: Observation) -> Finding | None:
    """Other programs on the cores; None where nothing was measured.

    What the engine had to wait for a core tells more than what others kept busy: they may have
    taken what it left, and cores may be handed out unevenly.
    """
    machine = seen.machine
    if machine.other_cores is None:
        return None
    if machine.waited is not None:
        return _kept_waiting(machine, machine.other_cores, machine.waited)
    missing = machine.threads + machine.other_cores - machine.cores
    return Finding(
        DiagnosisKind.CONTENDED,
        OVERCOMMITTED.judge(missing),
        OVERCOMMITTED.confidence(missing),
        Evidence("other_cores", machine.other_cores, "cores"),
        Sentence.CONTENDED,
        {
            "others": machine.other_cores,
            "cores": float(machine.cores),
            "threads": float(machine.threads),
        },
    )


def _kept_waiting(machine: MachineState, others: float, waited: float) -> Finding:
    window = machine.own_cores or 0.0
    is_so = WAITED.judge(waited)
    if is_so and others < window:  # it is this program itself, and no other
        is_so = None
    return Finding(
        DiagnosisKind.CONTENDED,
        is_so,
        WAITED.confidence(waited),
        Evidence("waited", waited, "share"),
        Sentence.KEPT_WAITING,
        {"waited": waited, "others": others, "window": window, "cores": float(machine.cores)},
    )


def stolen(seen: Observation) -> Finding | None:
    """A host that gives the processor to others; None where nobody counts that."""
    machine = seen.machine
    if machine.stolen is None:
        return None
    return Finding(
        DiagnosisKind.STOLEN,
        STOLEN.judge(machine.stolen),
        STOLEN.confidence(machine.stolen),
        Evidence("stolen", machine.stolen, "share"),
        Sentence.STOLEN,
        {
            "stolen": machine.stolen,
            "others": machine.other_cores or 0.0,
            "cores": float(machine.cores),
        },
    )


def host_in_decode(seen: Observation) -> Finding | None:
    """Time between the kernels of decode; None where it was not measured."""
    share = decode_host_share(seen)
    sentence = Sentence.HOST_IN_DECODE
    return _finding(DiagnosisKind.HOST_BOUND, HOST, share, "host", sentence)


def host_in_prefill(seen: Observation) -> Finding | None:
    """Time between the kernels of the prefill; None where it was not measured."""
    share = prefill_host_share(seen)
    sentence = Sentence.HOST_IN_PREFILL
    return _finding(DiagnosisKind.HOST_BOUND, HOST, share, "host", sentence)


def missed(seen: Observation) -> Finding | None:
    """Prompt tokens computed a second time; None where none could be avoided."""
    miss = seen.timeline.cache_miss
    if miss is None or miss.kind in _UNAVOIDABLE:
        return None
    share = lost_share(seen)
    return Finding(
        DiagnosisKind.CACHE_MISS,
        MISSED.judge(share),
        MISSED.confidence(share),
        Evidence("lost_tokens", num_lost(seen), "tokens"),
        Sentence.MISSED,
        {"lost": float(num_lost(seen)), "computed": float(seen.num_computed)},
    )


def recomputed(seen: Observation) -> Finding | None:
    """A text computed anew for each token; None where the cache keeps it."""
    if seen.keeps_cache:
        return None
    line = seen.timeline
    known = line.num_prompt_tokens + line.num_output_tokens // 2
    share = 1 - 1 / max(1, known)
    return Finding(
        DiagnosisKind.CACHE_MISS,
        MISSED.judge(share),
        MISSED.confidence(share),
        Evidence("recomputed_tokens", known, "tokens"),
        Sentence.RECOMPUTED,
        {"known": float(known)},
    )


def painting(seen: Observation) -> Finding | None:
    """A window that shows tokens late; None where nothing was painted."""
    if not seen.paint_delays_ns:
        return None
    delay = percentile(sorted(seen.paint_delays_ns), 0.5)
    gap = percentile(sorted(seen.itl_ns), 0.5) if seen.itl_ns else 0
    ratio = delay / max(gap, LEAST_PAINT_NS)
    return Finding(
        DiagnosisKind.PAINT_BOUND,
        PAINTING.judge(ratio),
        PAINTING.confidence(ratio),
        Evidence("paint_delay", delay / 1e6, "ms"),
        Sentence.PAINT_DELAY,
        {"delay": delay / 1e6},
    )


def _finding(
    kind: DiagnosisKind, band: Band, share: float | None, name: str, sentence: Sentence
) -> Finding | None:
    if share is None:
        return None
    evidence = Evidence(name, share, "share")
    is_so, confidence = band.judge(share), band.confidence(share)
    return Finding(kind, is_so, confidence, evidence, sentence, {"share": share})


def _is_throttling_likely(machine: MachineState) -> bool:
    is_hot = (
        machine.temperature_c is not None
        and machine.temperature_limit_c is not None
        and machine.temperature_c >= machine.temperature_limit_c - NEAR_LIMIT_C
    )
    return is_hot or bool(machine.is_on_battery) or bool(machine.is_saving_power)
