"""Everything that was observed of one answer, as values that a window shows and a file keeps.

Times called ``start_ns`` and ``end_ns`` count from Send, unlike those of a Timeline.
"""

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from engine.api.diagnosis import Diagnosis
from engine.api.machine import MachineUse
from engine.api.timeline import Timeline


class StallCause(StrEnum):
    """What held a token up.

    PREFILL: another prompt was computed. PREEMPTED: its cache had been given up to others.
    COLLECTOR: Python collected garbage. MEMORY: parts of the process were read back from the disk.
    THROTTLED: the processor ran below its speed. STOLEN: the host of this virtual machine had it.
    OTHERS: other programs had the cores. UNKNOWN: nothing that was watched.
    """

    PREFILL = "prefill"
    PREEMPTED = "preempted"
    COLLECTOR = "collector"
    MEMORY = "memory"
    THROTTLED = "throttled"
    STOLEN = "stolen"
    OTHERS = "others"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Stall:
    """The gap before token ``index`` (the first is 0). ``start_ns``: on the engine's clock."""

    index: int
    start_ns: int
    duration_ns: int
    cause: StallCause


@dataclass(frozen=True, slots=True)
class StageTime:
    """One stage; ``spans`` are its pieces, (start, duration) in ns after Send."""

    name: str
    spans: tuple[tuple[int, int], ...]

    @property
    def start_ns(self) -> int:
        """Where it begins, after Send."""
        return self.spans[0][0]

    @property
    def duration_ns(self) -> int:
        """All its pieces."""
        return sum(duration for _start, duration in self.spans)


@dataclass(frozen=True, slots=True)
class ChunkTime:
    """A step's part of a prompt: ``num_computed`` tokens after ``position`` that were there."""

    start_ns: int
    end_ns: int
    position: int
    num_computed: int


@dataclass(frozen=True, slots=True)
class KeptBytes:
    """Cache of one kind of layers: ``kind`` is full, window or compressed; bytes of one answer.

    ``num_bytes`` are kept, ``read_bytes`` of them read for the next token.
    """

    kind: str
    layers: int
    num_bytes: int
    read_bytes: int


@dataclass(frozen=True, slots=True)
class CacheUse:
    """The answer's cache at its end. ``shared_tokens`` were there before it, and may be others'."""

    num_tokens: int
    num_bytes: int
    allocated_bytes: int
    bytes_per_token: int
    dtype: str
    budget_bytes: int
    shared_tokens: int
    kinds: tuple[KeptBytes, ...] = ()


@dataclass(frozen=True, slots=True)
class RoofPoint:
    """Where a stage lies below this machine's measured ceilings.

    ``num_bytes`` read (``cache_bytes`` of them of the KV cache) and ``flops`` done, of the whole prefill or of one decoded token; both rates
    a second as observed (None: it took no time); ``share`` of the ceiling that binds it, 0 to 1.
    The ceilings are those of its own products: ``flops_per_s_ceiling`` and
    ``bytes_per_s_ceiling``.
    """

    num_bytes: int
    flops: int
    bytes_per_s: float | None
    flops_per_s: float | None
    bytes_per_s_ceiling: float
    flops_per_s_ceiling: float
    share: float | None
    cache_bytes: int = 0

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: operations a byte."""
        return self.flops / max(1, self.num_bytes)

    @property
    def utilisation(self) -> float | None:
        """Arithmetic done over what could be done in the time."""
        if self.flops_per_s is None:
            return None
        return self.flops_per_s / self.flops_per_s_ceiling


@dataclass(frozen=True, slots=True)
class Roofline:
    """Both stages of one answer. ``device`` and ``threads`` are those of the ceilings."""

    device: str
    threads: int
    read_bytes_per_s: float
    prefill: RoofPoint
    decode: RoofPoint


@dataclass(frozen=True, slots=True)
class PaintUse:
    """How the window kept up: from a token's choice to its pixels, in ns; percentiles."""

    num_paints: int
    p50_ns: int
    p95_ns: int
    max_ns: int


@dataclass(frozen=True, slots=True)
class AnswerReport:
    """One answer, under way or at its end (``is_complete``).

    ``times_ns``: when each token was chosen, after Send. ``collections`` and ``others`` (chunks of
    other prompts), (start, end) after Send. ``token_ids`` of the answer. ``mean_mhz``: the
    processor's, under load; None where the system does not say. ``machine``: what else it did.
    """

    request_id: str
    model: str
    precision: str
    is_complete: bool
    timeline: Timeline
    stages: tuple[StageTime, ...]
    chunks: tuple[ChunkTime, ...]
    times_ns: tuple[int, ...]
    token_ids: tuple[int, ...]
    stalls: tuple[Stall, ...]
    others: tuple[tuple[int, int], ...]
    collections: tuple[tuple[int, int], ...]
    cache: CacheUse
    roofline: Roofline | None
    diagnosis: Diagnosis
    paint: PaintUse | None = None
    mean_mhz: float | None = None
    machine: MachineUse | None = None

    @property
    def gaps_ns(self) -> tuple[int, ...]:
        """From each token to the next: the ITLs."""
        times = self.times_ns
        return tuple(after - before for before, after in pairwise(times))
