"""The memory a model would live in now, and what its weights would be packed for."""

from engine.api import Device
from engine.devices import find_gpu, has_native_bf16, read_memory
from engine.planner.room import Memory
from engine.planner.weights import Target


def look_at_machine(device: Device, bytes_to_free: int = 0) -> tuple[Memory, Target]:
    """Look at the device; AUTO is the GPU where one is found. Imports torch.

    ``bytes_to_free``: what the model about to be replaced gives back.
    """
    gpu = None if device is Device.CPU else find_gpu()
    if gpu is not None:
        other = max(0, gpu.total_bytes - gpu.free_bytes - bytes_to_free)
        memory = Memory(gpu.total_bytes, gpu.free_bytes, other, bytes_to_free, is_cuda=True)
        return memory, Target(is_cuda=True, has_native_bf16=gpu.has_native_bf16)
    from engine.kernels.library import open_core  # noqa: PLC0415 - imports torch
    from engine.quant.int4_cpu import has_fast_int4  # noqa: PLC0415 - imports torch
    from engine.quant.int8_cpu import has_fast_int8  # noqa: PLC0415 - imports torch

    now = read_memory()
    memory = Memory(now.total_bytes, now.available_bytes, now.other_bytes, bytes_to_free)
    target = Target(
        has_native_bf16=has_native_bf16(),
        has_fast_int4=has_fast_int4(),
        has_fast_int8=has_fast_int8(),
        has_core=open_core() is not None,
    )
    return memory, target
