"""What this machine can do, and what else it did while an answer was computed."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.api.options import Precision


@dataclass(frozen=True, slots=True)
class MachineUse:
    """The machine while one answer was computed; None where the system does not say.

    ``cores`` are physical ones, ``threads`` the engine's. ``other_cores``: cores that other
    programs kept busy, on average; ``own_cores``: that this program kept busy beside the engine.
    ``waited``: part of the time (0 to 1) that the engine was ready to compute and had no core.
    ``stolen``: part of the processor time wanted here that the host of this virtual machine took.
    Frequencies in MHz, the present one under load.
    """

    cores: int
    threads: int
    other_cores: float | None = None
    mhz_now: float | None = None
    mhz_max: float | None = None
    temperature_c: float | None = None
    temperature_limit_c: float | None = None
    is_on_battery: bool | None = None
    is_saving_power: bool | None = None
    own_cores: float | None = None
    waited: float | None = None
    stolen: float | None = None


@dataclass(frozen=True, slots=True)
class MachineCeilings:
    """The most that was measured on this machine, on its CPU or its GPU (``device``).

    ``read_bytes_per_s`` of weights, ``cache_bytes_per_s`` of the KV cache; ``flops_per_s`` of a
    prompt's products, by what the weights are kept as. ``measured_at``: seconds since the epoch.
    """

    device: str
    threads: int
    read_bytes_per_s: float
    cache_bytes_per_s: float
    flops_per_s: Mapping[Precision, float]
    measured_at: float


@dataclass(frozen=True, slots=True)
class GpuMemory:
    """A graphics card's own memory, in bytes.

    The engine has ``reserved_bytes``, of which tensors fill ``allocated_bytes``; what its driver
    keeps for each program counts among the others'.
    """

    total_bytes: int
    free_bytes: int
    allocated_bytes: int
    reserved_bytes: int

    @property
    def other_bytes(self) -> int:
        """What other programs and the driver have."""
        return max(0, self.total_bytes - self.free_bytes - self.reserved_bytes)

    @property
    def unused_bytes(self) -> int:
        """Reserved and not filled at present."""
        return max(0, self.reserved_bytes - self.allocated_bytes)
