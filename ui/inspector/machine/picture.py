"""What the Machine view shows, as plain records, and the figures that follow from them.

Pure functions; no widget.
"""

from dataclasses import dataclass
from enum import StrEnum

from engine.api import (
    AnswerReport,
    Device,
    EngineStats,
    GpuMemory,
    MachineCeilings,
    ModelInfo,
    RoofPoint,
)

_OLD_S = 60 * 24 * 3_600.0
_ABOVE = 1.05  # of a ceiling: more cannot be, so the ceiling was measured too low


class Use(StrEnum):
    """What memory is used for."""

    WEIGHTS = "weights"
    KV = "kv"
    WORKING = "working"
    UNUSED = "unused"
    RUNTIME = "runtime"
    OTHERS = "others"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """Bytes of one use."""

    use: Use
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget that can be set, in MiB; None: as much as is automatic. ``gives``: in words."""

    mib: int | None
    now_bytes: int
    gives: str = ""


@dataclass(frozen=True, slots=True)
class MachinePicture:
    """One look at the machine; None for what is not known.

    ``age_s``: since the ceilings were measured. ``problem``: why that failed, a sentence.
    """

    stats: EngineStats | None = None
    info: ModelInfo | None = None
    report: AnswerReport | None = None
    ceilings: MachineCeilings | None = None
    age_s: float = 0.0
    is_measuring: bool = False
    problem: str = ""
    needs_reload: bool = False

    @property
    def is_old(self) -> bool:
        """Whether the ceilings were measured long ago."""
        return self.ceilings is not None and self.age_s > _OLD_S

    @property
    def is_exceeded(self) -> bool:
        """Whether the answer was faster than the ceilings allow, as they still stand."""
        line = None if self.report is None else self.report.roofline
        if line is None or self.ceilings is None:
            return False
        is_current = line.read_bytes_per_s == self.ceilings.read_bytes_per_s
        return is_current and any(map(exceeds, (line.prefill, line.decode)))


def exceeds(point: RoofPoint) -> bool:
    """Whether a stage lies above a ceiling of its own, by more than the noise of a measurement."""
    memory = (point.bytes_per_s or 0.0) / point.bytes_per_s_ceiling
    arithmetic = (point.flops_per_s or 0.0) / point.flops_per_s_ceiling
    return max(memory, arithmetic, point.share or 0.0) > _ABOVE


def used_bytes(stats: EngineStats) -> int:
    """Bytes of the cache's blocks that hold something."""
    return stats.kv_live_bytes + stats.kv_cached_bytes


def memory_parts(stats: EngineStats, device: Device) -> list[MemoryPart]:
    """The computer's memory: everything in it, in a fixed order.

    A CPU's cache takes memory as its blocks are written, so those in use are counted. What a model
    has on a graphics card is not here.
    """
    is_here = device is not Device.CUDA
    weights = stats.weights_bytes if is_here else 0
    kv = used_bytes(stats) if is_here else 0
    runtime = min(stats.runtime_bytes, stats.process_bytes)
    weights = min(weights, stats.process_bytes - runtime)
    kv = min(kv, stats.process_bytes - runtime - weights)
    free = stats.total_memory_bytes - stats.process_bytes - stats.other_programs_bytes
    return [
        MemoryPart(Use.WEIGHTS, weights),
        MemoryPart(Use.KV, kv),
        MemoryPart(Use.WORKING, stats.process_bytes - runtime - weights - kv),
        MemoryPart(Use.RUNTIME, runtime),
        MemoryPart(Use.OTHERS, stats.other_programs_bytes),
        MemoryPart(Use.FREE, max(0, free)),
    ]


def card_parts(stats: EngineStats, card: GpuMemory) -> list[MemoryPart]:
    """A graphics card's memory: everything in it, in a fixed order."""
    weights = min(stats.weights_bytes, card.allocated_bytes)
    kv = min(stats.kv_allocated_bytes, card.allocated_bytes - weights)
    return [
        MemoryPart(Use.WEIGHTS, weights),
        MemoryPart(Use.KV, kv),
        MemoryPart(Use.WORKING, card.allocated_bytes - weights - kv),
        MemoryPart(Use.UNUSED, card.unused_bytes),
        MemoryPart(Use.OTHERS, card.other_bytes),
        MemoryPart(Use.FREE, card.free_bytes),
    ]
