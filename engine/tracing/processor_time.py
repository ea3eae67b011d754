"""How long all processors of this machine computed, and how long its host kept them from it.

Counted by the system since it started. Only the host of a virtual machine takes processors away;
Linux tells of it ("steal" in proc(5)), where the host does.
"""

from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Seconds of all processors together since the machine started.

    ``busy_s``: with programs of this machine. ``stolen_s``: a program was ready there, and the host
    of this virtual machine gave the processor to others; None where nobody counts that.
    """

    busy_s: float
    stolen_s: float | None = None

    @property
    def wanted_s(self) -> float:
        """What programs of this machine computed or could have computed."""
        return self.busy_s + (self.stolen_s or 0.0)


def processor_time() -> ProcessorTime:
    """Up to now; in ticks, of which most systems have a hundred a second."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # guests are counted among user and nice, too
    twice = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    stolen = float(getattr(times, "steal", 0.0))
    # a count that never moved is that of a machine without a host, or of one that does not tell
    return ProcessorTime(float(sum(times) - idle - twice) - stolen, stolen or None)


def time_between(before: ProcessorTime, now: ProcessorTime) -> ProcessorTime:
    """What passed between two looks; a host that moves the machine may set its count back."""
    stolen = None
    if now.stolen_s is not None:
        stolen = max(0.0, now.stolen_s - (before.stolen_s or 0.0))
    return ProcessorTime(max(0.0, now.busy_s - before.busy_s), stolen)
