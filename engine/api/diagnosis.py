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
    shows text later than the engine says it. CONTENDED: other programs have the cores. STOLEN: the
    host of this virtual machine has the processor. UNSURE: the figures do not prove any of these.
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
    STOLEN = "stolen"
    UNSURE = "unsure"


class Sentence(StrEnum):
    """What a diagnosis can say: English, with named places for its values.

    The names stay; a window translates by the text.
    """

    QUEUE = "This answer waited {ms:.0f} ms for others, {share:.0%} of its time."
    TEXT = "Turning text into tokens and back took {ms:.0f} ms, {share:.0%} of the time."
    PREFILL = "Computing the prompt took {ms:.0f} ms, {share:.0%} of the time."
    PAINT = "The complete answer took {ms:.0f} ms to the screen, {share:.0%} of the time."
    PAINT_DELAY = "The window shows each token {delay:.0f} ms after the engine chose it."
    READING = (
        "Each token waits for memory: reading the weights and the cache takes {share:.0%} of "
        "its time at this machine's ceiling."
    )
    READING_BESIDE = (
        "Each token waits for memory: reading the weights and the cache takes {share:.0%} of its "
        "time at this machine's ceiling. For {waited:.0%} of it the engine had no core: other "
        "programs kept {others:.1f} of {cores:.0f} busy, and this window {window:.1f}."
    )
    READING_STOLEN = (
        "Each token waits for memory: reading the weights and the cache takes {share:.0%} of its "
        "time at this machine's ceiling. The host of this virtual machine took {stolen:.0%} of the "
        "processor time."
    )
    HOST_IN_DECODE = "The work around the model takes {share:.0%} of the time between two tokens."
    HOST_IN_PREFILL = "The work around the model takes {share:.0%} of the time the prompt takes."
    MISSED = "{lost:.0f} of the {computed:.0f} prompt tokens that were computed missed the cache."
    RECOMPUTED = "Without the KV cache each token computes about {known:.0f} tokens anew."
    OFFLOADED = (
        "Part of the model does not fit on the graphics card: reading it from the computer's "
        "memory takes {share:.0%} of each token."
    )
    SWAPPED = (
        "Memory is short: {share:.0%} of what each token reads was fetched back from the disk."
    )
    THROTTLED = "The processor runs at {now:.0f} of its {most:.0f} MHz."
    CONTENDED = (
        "Other programs keep {others:.1f} of {cores:.0f} cores busy, and the engine wants "
        "{threads:.0f}."
    )
    KEPT_WAITING = (
        "The engine was ready and had no core for {waited:.0%} of the time: other programs kept "
        "{others:.1f} of {cores:.0f} busy, and this window {window:.1f}."
    )
    STOLEN = (
        "The host of this virtual machine took {stolen:.0%} of the processor time; other programs "
        "in it kept {others:.1f} of {cores:.0f} cores busy."
    )
    FEW_TOKENS = "Too few tokens were written to tell what holds them up: {tokens:.0f}."
    NO_CEILINGS = "This machine's ceilings are not measured yet, and nothing else stands out."
    UNEXPLAINED = (
        "Reading the model takes {share:.0%} of each token at this machine's ceiling, and "
        "nothing that was measured explains the rest."
    )
    DIVIDED = (
        "Nothing takes most of a token's time: reading the model takes {share:.0%} at this "
        "machine's ceiling, and for {waited:.0%} the engine had no core."
    )
    ONE_UNPROVEN = "One cause is possible, and the figures do not prove it."
    NONE_PROVEN = "More than one cause is possible, and the figures prove none of them."
    SEVERAL = "More than one cause is possible, and the figures do not tell them apart."
    NO_STAGE = (
        "No part takes most of the time: waiting {queue:.0%}, the prompt {prefill:.0%}, "
        "writing {decode:.0%}."
    )


@dataclass(frozen=True, slots=True)
class Evidence:
    """The number behind a diagnosis: ``share`` (0 to 1), ``ms``, ``mhz``, ``cores``, ``tokens``."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something to change.

    ``key`` is a setting and ``value`` what to set it to; "power", "other_programs" and "quiet_host"
    are outside the app and have no value. ``gain``: how many times as fast the same answer would be, by a
    calculation from what was observed; ``saved_ns`` of its time.
    """

    key: str
    value: str | int | bool | None
    gain: float
    saved_ns: int


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One sentence about one answer.

    ``sentence`` has named places for ``values``, so that it can be translated before it is filled
    in. ``candidates``: the kinds an UNSURE one could not choose from.
    ``confidence``: 0.5 at a threshold, 1 far beyond it; 0 for UNSURE. The best of ``remedies``,
    at most three, comes first.
    """

    kind: DiagnosisKind
    sentence: Sentence
    values: Mapping[str, float]
    evidence: Evidence | None = None
    remedies: tuple[Remedy, ...] = ()
    confidence: float = 0.0
    candidates: tuple[DiagnosisKind, ...] = field(default=())

    @property
    def text(self) -> str:
        """The English sentence with its numbers."""
        return self.sentence.format_map(self.values)
