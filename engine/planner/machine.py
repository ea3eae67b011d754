"""The memory a model would live in now, and what its weights would be packed for."""

import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from engine.api import Device
from engine.devices import find_gpu, read_memory
from engine.model.footprint.target import target_of
from engine.model.footprint.weights import Target
from engine.planner.room import Memory

_NO_CUDA = re.compile(r"^cuda\b[^=\n]*=\s*None", re.MULTILINE)
_NO_HIP = re.compile(r"^hip\b[^=\n]*=\s*None", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Machine:
    """One device. ``host``: the computer around a GPU, which may take some of the layers."""

    memory: Memory
    target: Target
    host: "Machine | None" = None


def look_at_machine(
    device: Device, bytes_to_free: int = 0, *, is_regular: bool = False
) -> Machine:
    """Look at the device; AUTO is the GPU where one is found.

    ``bytes_to_free``: what the model about to be replaced gives back. ``is_regular``: all matrices
    suit the native core, and the weights are not to be BF16, so that torch need not be imported to
    see how its own products would keep them.
    """
    gpu = None if device is Device.CPU or not _may_have_gpu() else find_gpu()
    now = read_memory()
    freed = 0 if gpu is not None else bytes_to_free
    memory = Memory(now.total_bytes, now.available_bytes, now.other_bytes, freed)
    target = target_of(
        Device.CPU, has_native_bf16=False if is_regular else None, has_odd_rows=not is_regular
    )
    computer = Machine(memory, target)
    if gpu is None:
        return computer
    other = max(0, gpu.total_bytes - gpu.free_bytes - bytes_to_free)
    card = Memory(gpu.total_bytes, gpu.free_bytes, other, bytes_to_free, is_cuda=True)
    packed = target_of(Device.CUDA, has_native_bf16=gpu.has_native_bf16)
    return Machine(card, packed, computer)


def _may_have_gpu() -> bool:
    """False where torch was built without one, which is seen without importing it."""
    if "torch" in sys.modules:
        return True
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    try:
        text = Path(spec.origin).with_name("version.py").read_text("utf-8")
    except OSError:
        return True
    return not (_NO_CUDA.search(text) and _NO_HIP.search(text))
