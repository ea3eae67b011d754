"""The one place that imports Triton, with types: its package has none of its own.

Imported by the kernels beside it, and so only where one of them is to run: Triton comes with
torch's CUDA builds for Linux, and is no dependency of this project's.
"""

from collections.abc import Callable
from typing import Any, Protocol, cast

import triton  # type: ignore[import-untyped, import-not-found, unused-ignore] # noqa: TID253 - who imports this module is about to run a kernel
from triton import language as tl  # noqa: TID253 - as above

__all__ = ["Kernel", "TritonError", "is_interpreted", "kernel", "tl"]

TritonError: type[Exception] = triton.TritonError


class Kernel(Protocol):
    """A compiled function: ``kernel[grid](*arguments)`` starts it, from another it is called."""

    def __getitem__(self, grid: tuple[int, ...], /) -> Callable[..., object]:
        """The kernel on ``grid`` programs."""
        ...

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Within another kernel."""
        ...


def kernel(function: Callable[..., object]) -> Kernel:
    """``triton.jit``, with a type."""
    return cast("Kernel", triton.jit(function))


def is_interpreted() -> bool:
    """Whether kernels run in Triton's interpreter, on the CPU (TRITON_INTERPRET=1)."""
    return bool(triton.knobs.runtime.interpret)
