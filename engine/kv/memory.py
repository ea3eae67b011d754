"""Memory of the cache: zeros that cost nothing until they are used, and scratch used again.

Knows no layout and no request.
"""

import math
import mmap
from collections.abc import Sequence

import torch


def lazy_zeros(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Zeros; on the CPU the system commits each page when it is first written.

    torch would write all of them now: a second for a gigabyte that may never be used.
    """
    if device.type != "cpu" or not math.prod(shape):
        return torch.zeros(tuple(shape), dtype=dtype, device=device)
    # not numpy.zeros: it asks for huge pages, and a token in each head would commit 2 MB
    pages = mmap.mmap(-1, math.prod(shape) * dtype.itemsize)
    return torch.frombuffer(pages, dtype=dtype).view(*shape)


class Scratch:
    """Memory that is used again at every read.

    A fresh large tensor costs page faults, several times the copy that fills it.
    """

    def __init__(self, device: torch.device) -> None:
        self._bytes = torch.empty(0, dtype=torch.uint8, device=device)

    def take(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """An uninitialised tensor, valid until the next call; grows by at least half."""
        wanted = math.prod(shape) * dtype.itemsize
        if wanted > self._bytes.shape[0]:
            size = max(wanted, self._bytes.shape[0] * 3 // 2)
            self._bytes = torch.empty(size, dtype=torch.uint8, device=self._bytes.device)
        return self._bytes[:wanted].view(dtype).view(shape)
