"""Records a step's kernels once and starts them all with one call."""

import weakref
from collections.abc import Callable
from functools import partial
from typing import Protocol

import torch
from typing_extensions import override

Step = Callable[[], torch.Tensor]


class GraphDevice(Protocol):
    """Where steps are captured."""

    def capture(self, step: Step) -> Step:
        """Run ``step`` once to warm up, then record it; the result runs it again when called.

        It reads and writes the memory that ``step`` did, and returns the same tensor each time,
        which holds until any of this device's steps runs again. Raises what torch and Triton raise.
        """
        ...


class CudaGraphs(GraphDevice):
    """CUDA graphs of one card, which share their memory as they run one after the other.

    The memory goes back when the graphs are dropped.
    """

    def __init__(self, device: torch.device) -> None:
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call] # torch has no type for it
        self._pool = torch.cuda.graph_pool_handle()
        self._living: weakref.WeakSet[torch.cuda.CUDAGraph] = weakref.WeakSet()

    @override
    def capture(self, step: Step) -> Step:
        present = torch.cuda.current_stream(self._stream.device)
        self._stream.wait_stream(present)
        try:
            with torch.cuda.stream(self._stream):
                step()  # compiles kernels and takes workspaces, neither of which can be recorded
        finally:
            present.wait_stream(self._stream)
        if not self._living:
            # a pool ends with its last graph, and takes nothing more after a recording that broke
            self._pool = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        # a recording that breaks leaves its stream the present one; other threads may allocate
        # meanwhile
        recording = torch.cuda.graph(graph, self._pool, self._stream, "thread_local")
        with torch.cuda.stream(present), recording:
            output = step()
        self._living.add(graph)
        return partial(_replay, graph, output)


def _replay(graph: torch.cuda.CUDAGraph, output: torch.Tensor) -> torch.Tensor:
    graph.replay()
    return output
