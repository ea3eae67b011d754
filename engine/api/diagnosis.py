"""What held an answer up, as a value: the kind, the number that proves it, and what would help."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class DiagnosisKind(StrEnum):
    """What took the time.

    PREFILL_BOUND: computing the prompt. DECODE_BOUND: reading weights and cache for each token.
    HOST_BOUND: the work around the model's kernels. QUEUE_BOUND: waiting for other answers.
    CACHE_MISS: computing prompt tokens that were known before. MEMORY_SPILLED: parts of the model
    lie in slower memory. THROTTLED: the processor runs below its speed. PAINT_BOUND: the window
    shows text later than the engine says it. CONTENDED: other programs have the cores. UNSURE: the
    figures do not prove any of these.
    """

    PREFILL_BOUND = "prefill_bound"
    DECODE_BOUND = "decode_bound"
    HOST_BOUND = "host_bound"
    QUEUE_BOUND = "queue_bound"
    CACHE_MISS = "cache_miss"
    MEMORY_SPILLED = "memory_spilled"
    THROTTLED = "throttled"
    PAINT_BOUND = "paint_bound"
    CONTENDED = "contended"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The number behind a diagnosis: ``share`` (0 to 1), ``ms``, ``mhz``, ``cores``, ``tokens``."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something to change.

    ``key`` is a setting and ``value`` what to set it to; "power" and "other_programs" are outside
    the app and have no value. ``gain``: how many times as fast the same answer would be, by a
    calculation from what was observed; ``saved_ns`` of its time.
    """

    key: str
    value: str | int | bool | None
    gain: float
    saved_ns: int


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One sentence about one answer.

    ``sentence`` is English with named places for ``values``, so that it can be translated before
    it is filled in. ``candidates``: the kinds an UNSURE one could not choose from.
    ``confidence``: 0.5 at a threshold, 1 far beyond it; 0 for UNSURE. The best of ``remedies``,
    at most three, comes first.
    """

    kind: DiagnosisKind
    sentence: str
    values: Mapping[str, float]
    evidence: Evidence | None = None
    remedies: tuple[Remedy, ...] = ()
    confidence: float = 0.0
    candidates: tuple[DiagnosisKind, ...] = field(default=())

    @property
    def text(self) -> str:
        """The English sentence with its numbers."""
        return self.sentence.format_map(self.values)
