"""Times work on a device: the best of several short runs, since a busy machine only makes it worse."""

import time
from collections.abc import Callable, Sequence

import torch

_RUNS = 4


class Stopwatch:
    """Of one device, with torch on ``threads``."""

    def __init__(self, device: torch.device, threads: int) -> None:
        self._is_cuda = device.type == "cuda"
        self._threads = threads

    def best(self, works: Sequence[Callable[[], object]], runs: int = _RUNS) -> float:
        """Seconds of one of ``works``, all alike, at its fastest; one round is not counted.

        On the CPU each is timed by itself: where threads wait for a core, most are slow and some
        are not. On a GPU a whole round is timed, since a single one is shorter than its start.
        """
        for work in works:
            work()
        if self._is_cuda:
            return max(1e-9, min(self._time(works) for _ in range(runs)) / len(works))
        return max(1e-9, min(self._time((work,)) for _ in range(runs) for work in works))

    def best_reading(self, works: Sequence[Callable[[], object]]) -> float:
        """As ``best``, of all threads and of one, for work that waits for memory.

        Where another program has a core, all threads wait for the slowest; one alone then reads
        faster, and no idle machine is slower than that.
        """
        best = self.best(works)
        if self._is_cuda or self._threads == 1:
            return best
        torch.set_num_threads(1)
        try:
            return min(best, self.best(works))
        finally:
            torch.set_num_threads(self._threads)

    def _time(self, works: Sequence[Callable[[], object]]) -> float:
        self._wait()
        start = time.perf_counter()
        for work in works:
            work()
        self._wait()
        return time.perf_counter() - start

    def _wait(self) -> None:
        if self._is_cuda:
            torch.cuda.synchronize()
