"""Compiles the kernels for a card that is not there, as they would be started on it.

    python -m tests.helpers.compiled_kernels CAPABILITY:FORMAT ...

Prints a line for each card and format: the kernels for which there is machine code. Imports Triton.
"""

import sys
from collections.abc import Callable

import torch
import triton  # noqa: TID253 - that is what it is for
from triton.backends.compiler import GPUTarget  # noqa: TID253 - as above

from engine.config import KVFormat, KVGeometry
from engine.kernels.gpu.append import append
from engine.kernels.gpu.attention import Sight, attend
from engine.kv.quantized import make_storage
from engine.model.captured.kernel_rows import layer_cache

CPU = torch.device("cpu")


class AbsentCard:
    """What Triton asks the driver for."""

    def __init__(self, capability: int) -> None:
        self._target = GPUTarget("cuda", capability, 32)

    def get_current_device(self) -> int:
        return self._target.arch  # kernels are compiled once for each device

    def get_current_stream(self, device: int) -> int:
        return device

    def get_current_target(self) -> GPUTarget:
        return self._target


def compile_only(self: triton.JITFunction, grid: tuple[int, ...]) -> Callable[..., None]:
    """In place of a start."""

    def start(*arguments: object) -> None:
        made = self.run(*arguments, grid=grid, warmup=True)
        card = triton.runtime.driver.active.get_current_target()
        if made.asm["cubin"] and made.metadata.target == card:
            sys.stdout.write(f" {self.fn.__name__}")

    return start


def compile_for(capability: int, kept: KVFormat) -> None:
    triton.runtime.driver.set_active(AbsentCard(capability))
    dtype = torch.bfloat16 if capability >= 80 else torch.float16
    cache = layer_cache(make_storage(KVGeometry(1, 2, 64, 16, 12, kept), CPU), 0, dtype)
    rows = torch.zeros(3, 10, 64, dtype=dtype)
    numbers = torch.zeros(3, dtype=torch.int64)
    append(cache, rows[:, 6:], numbers, numbers)
    attend(cache, rows[:, :6], torch.zeros(3, 4).int(), torch.ones(3).int(), Sight(20, 30.0), 4)


def main() -> None:
    triton.JITFunction.__getitem__ = compile_only
    for asked in sys.argv[1:]:
        capability, kept = asked.split(":")
        sys.stdout.write(f"{asked}")
        compile_for(int(capability), KVFormat(kept))
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
