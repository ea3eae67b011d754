"""What this machine is: processor, graphics card, memory. Reads only; decides nothing.

torch is imported inside the functions that need it, so that importing this module stays cheap.
"""

import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from engine.api import GpuMemory

_BRAND_COMMAND = ("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string")
_REGISTRY_KEY = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"


@dataclass(frozen=True, slots=True)
class CpuInfo:
    """The processor.

    ``physical_cores`` are those this process may use. ``isa`` names the vector extensions that
    matter here ("avx2", "avx512f", "avx512_vnni", ...), empty where the system does not say.
    ``has_native_bf16``: bfloat16 products run in hardware, not by conversion.
    """

    name: str
    physical_cores: int
    isa: tuple[str, ...]
    has_native_bf16: bool


@dataclass(frozen=True, slots=True)
class GpuInfo:
    """A CUDA device. Bytes are the card's own memory; ``capability`` is (major, minor)."""

    name: str
    total_bytes: int
    free_bytes: int
    capability: tuple[int, int]

    @property
    def has_native_bf16(self) -> bool:
        """Whether bfloat16 products run in hardware (Ampere and later)."""
        return self.capability >= (8, 0)


@dataclass(frozen=True, slots=True)
class MemoryInfo:
    """Main memory now, in bytes.

    ``available_bytes`` can be given to a program without swapping; ``process_bytes`` is this
    process's resident set; ``other_bytes`` is what everything else occupies.
    """

    total_bytes: int
    available_bytes: int
    process_bytes: int

    @property
    def other_bytes(self) -> int:
        """Memory in use by other programs and the system."""
        return max(0, self.total_bytes - self.available_bytes - self.process_bytes)


class CudaMemory(Protocol):
    """What is asked of ``torch.cuda`` about a card's memory; ``device`` counts from 0."""

    def mem_get_info(self, device: int, /) -> tuple[int, int]:
        """Bytes that are free, and all."""
        ...

    def memory_allocated(self, device: int, /) -> int:
        """Bytes that tensors fill."""
        ...

    def memory_reserved(self, device: int, /) -> int:
        """Bytes that torch has of the driver."""
        ...


def describe_cpu() -> CpuInfo:
    """Look at the processor. Imports torch."""
    return CpuInfo(cpu_name(), physical_cores(), _vector_extensions(), has_native_bf16())


def physical_cores() -> int:
    """Cores this process may run on, hyper-threads counted once; at least 1."""
    cores = psutil.cpu_count(logical=False) or psutil.cpu_count() or 1
    if sys.platform == "linux":
        cores = min(cores, len(os.sched_getaffinity(0)))
    return max(1, cores)


def cpu_name() -> str:
    """The processor's marketing name, or its architecture where the system does not tell."""
    found = ""
    if sys.platform == "linux":
        found = _linux_field("model name")
    elif sys.platform == "darwin":
        found = _mac_brand()
    elif sys.platform == "win32":
        found = _windows_name()
    return found or platform.processor() or platform.machine()


def has_native_bf16() -> bool:
    """Whether this CPU multiplies bfloat16 in hardware. Imports torch."""
    import torch  # noqa: PLC0415 - torch takes seconds to import, and the window must not wait

    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, check, _no)()) for check in checks)


def find_gpu() -> GpuInfo | None:
    """The first CUDA device torch can use, or None. Imports torch."""
    import torch  # noqa: PLC0415 - torch takes seconds to import, and the window must not wait

    if not torch.cuda.is_available():
        return None
    free, total = torch.cuda.mem_get_info(0)
    properties = torch.cuda.get_device_properties(0)
    return GpuInfo(properties.name, total, free, (properties.major, properties.minor))


def read_gpu_memory(cuda: CudaMemory, device: int = 0) -> GpuMemory:
    """Measure a card's memory now; ``cuda`` is ``torch.cuda``."""
    free, total = cuda.mem_get_info(device)
    return GpuMemory(total, free, cuda.memory_allocated(device), cuda.memory_reserved(device))


def read_memory() -> MemoryInfo:
    """Measure main memory now."""
    memory = psutil.virtual_memory()
    return MemoryInfo(memory.total, memory.available, process_memory())


def process_memory() -> int:
    """Resident bytes of this process."""
    return int(psutil.Process().memory_info().rss)


def _no() -> bool:
    return False


def _linux_field(key: str) -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def _vector_extensions() -> tuple[str, ...]:
    """The flags of the first processor that start like a vector extension, sorted."""
    if sys.platform != "linux":
        return ()
    flags = (_linux_field("flags") or _linux_field("Features")).split()
    starts = ("avx", "amx", "fma", "f16c", "asimd", "sve", "i8mm", "bf16")
    return tuple(sorted({flag for flag in flags if flag.startswith(starts)}))


def _mac_brand() -> str:
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command without user input
            _BRAND_COMMAND, capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


if sys.platform == "win32":
    import winreg

    def _windows_name() -> str:
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _REGISTRY_KEY) as key:
                return str(winreg.QueryValueEx(key, "ProcessorNameString")[0]).strip()
        except OSError:
            return ""
