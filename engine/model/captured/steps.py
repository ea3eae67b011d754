"""Which decode steps are captured, and when: a graph for each number of rows, a power of two.

A step is captured when it is the first of its size; steps with a prompt's rows, with guesses or
with more rows than ``MOST_ROWS`` run kernel by kernel, and so does everything once a capture has
failed. Layers with windows of their own are captured like the others: each group has its slots and
tables. Knows the decoder by what it promises here; one card, one thread.
"""

import logging
import subprocess
import weakref
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Protocol

import torch

from engine.kv.storage import PagedStorage
from engine.model.batch import ForwardBatch, ForwardInterruptedError
from engine.model.captured.device import CudaGraphs, GraphDevice, Step
from engine.model.captured.inputs import MOST_ROWS, StaticInputs
from engine.model.captured.rows import DecoderShape, GatheredKind, PagedRows, Places, RowsKind
from engine.model.layer import DecoderLayer
from engine.model.mlp import GatedMLP
from engine.quant.bitsandbytes import Nf4Linear
from engine.quant.dense import DenseLinear
from engine.quant.linear import Linear

_LOG = logging.getLogger(__name__)
_MOST_GRAPHS = 24
# What goes wrong on a machine whose driver, compiler or free memory is not up to it.
_FAILURES = (RuntimeError, OSError, ImportError, subprocess.SubprocessError)

MakeRows = Callable[[PagedStorage, DecoderShape], RowsKind]


class StaticDecoder(Protocol):
    """What is captured."""

    def reserve(self, num_positions: int) -> None:
        """Have everything ready for positions [0, num_positions), in memory that stays."""
        ...

    def decode(
        self, token_ids: torch.Tensor, positions: torch.Tensor, rows: PagedRows
    ) -> torch.Tensor:
        """Logits of one token a row, float32 [rows, vocab_size]; waits for nothing."""
        ...


class CapturedSteps:
    """The captured steps of one decoder, over one storage at a time.

    Keeps no storage alive: what was captured over one goes with it.
    """

    def __init__(self, device: GraphDevice, ways: Sequence[MakeRows]) -> None:
        """``ways``: to append and attend; each where those before it fail."""
        self._device = device
        self._ways = list(ways)
        self._why = ""  # a way was given up, or all
        self._storage: weakref.ref[PagedStorage] | None = None
        self._shape: DecoderShape | None = None
        self._kind: RowsKind | None = None
        self._inputs: StaticInputs | None = None
        self._graphs: dict[tuple[int, int], Step] = {}

    @property
    def fact(self) -> str:
        """How decode steps run, in words for the model sheet."""
        reason = f", as {self._why}" if self._why else ""
        if not self._ways:
            return f"decode: kernel by kernel{reason}"
        name = "" if self._kind is None else f", {self._kind.name}"
        return f"decode: one captured graph a step{name}{reason}"

    @property
    def num_graphs(self) -> int:
        """Captured steps that are held."""
        return len(self._graphs)

    def refuse(self, reason: str) -> None:
        """Capture nothing, "as ...": what the steps are made of cannot be."""
        self._ways.clear()
        self._why = reason
        self.forget()

    def drop(self) -> None:
        """Give up all graphs: something that they read lies elsewhere from now on."""
        self._graphs.clear()

    def forget(self) -> None:
        """Give up the storage, too."""
        self.drop()
        self._storage = self._shape = self._kind = self._inputs = None

    def take(self, storage: PagedStorage, shape: DecoderShape) -> None:
        """Prepare for ``storage``, unless that is what was there before."""
        is_known = self._storage is not None and self._storage() is storage
        if is_known or not self._ways:
            return
        self.forget()
        self._storage, self._shape = weakref.ref(storage, _forgetting(self)), shape
        most = -(-shape.context_length // storage.geometry.block_size)
        self._inputs = StaticInputs(len(storage.parts), most, storage.device)
        self._choose(storage)

    def run(
        self, decoder: StaticDecoder, batch: ForwardBatch, interrupted: Callable[[], bool]
    ) -> torch.Tensor | None:
        """Logits, float32 [R, vocab_size], after ``take``; None where the step is not captured.

        Raises ForwardInterruptedError when ``interrupted()`` is true, before anything runs.
        """
        inputs = self._inputs
        blocks = max(len(table) for s in batch.segments for table in (s.block_ids, *s.window_ids))
        if inputs is None or blocks > inputs.most_blocks or not _is_decode(batch):
            return None
        count = len(batch.segments)
        rows = 1 << (count - 1).bit_length()
        while self._kind is not None:
            width = self._kind.width(rows, blocks, inputs.most_blocks)
            if width is None:
                return None
            if interrupted():
                raise ForwardInterruptedError
            inputs.fill(batch, rows)
            graph = self._graphs.get((rows, width))
            graph = graph or self._capture(decoder, self._kind, rows, width)
            if graph is not None:
                return graph()[:count].clone()  # the next step writes over what this one returns
        return None

    def _choose(self, storage: PagedStorage) -> None:
        """Take the first way that this machine can prepare."""
        while self._ways and self._kind is None and self._shape:
            try:
                self._kind = self._ways[0](storage, self._shape)
            except _FAILURES as error:
                self._give_up("attention", error)

    def _capture(
        self, decoder: StaticDecoder, kind: RowsKind, rows: int, width: int
    ) -> Step | None:
        inputs = self._inputs
        storage = None if self._storage is None else self._storage()
        assert inputs is not None, "captured before a storage was taken"
        assert storage is not None, "captured over a storage that is gone"
        given = inputs.views(rows, width)

        def step() -> torch.Tensor:
            return decoder.decode(given.token_ids, given.positions, kind.begin(given))

        if len(self._graphs) >= _MOST_GRAPHS:
            self._graphs.pop(next(iter(self._graphs)))
        failures: tuple[type[Exception], ...] = (*_FAILURES, *kind.failures)
        try:
            decoder.reserve(inputs.most_blocks * storage.geometry.block_size)
            graph = self._device.capture(step)
        except failures as error:
            self._give_up(kind.name, error)
            self._choose(storage)
            return None
        self._graphs[rows, width] = graph
        return graph

    def _give_up(self, name: str, error: Exception) -> None:
        """Leave the present way, once and for all."""
        text = (str(error).strip() or "no reason given").splitlines()[0]
        self._why = f"capturing {name} failed ({type(error).__name__}: {text})"
        self._ways.pop(0)
        self._kind = None
        self.drop()
        _LOG.info("Decode steps go another way, as %s", self._why)


def capture_on(
    device: torch.device, layers: Sequence[DecoderLayer], head: Linear
) -> CapturedSteps | None:
    """The captured steps of a decoder made of ``layers`` on a graphics card; None elsewhere."""
    if device.type != "cuda":
        return None
    steps = CapturedSteps(CudaGraphs(device), (_kernels, _gathered))
    refusal = why_not(layers, head)
    if refusal is not None:
        steps.refuse(refusal)
    return steps


def why_not(layers: Sequence[DecoderLayer], head: Linear) -> str | None:
    """Why steps made of these parts cannot be captured; None where they can.

    bitsandbytes' 4-bit products run on the stream that is captured and wait for nothing; its INT8
    product looks on the host whether a step has outliers, and does other work where it has.
    """
    products = [head]
    for layer in layers:
        if not isinstance(layer.feed_forward, GatedMLP):
            return "the experts of a token are chosen on the host"
        products += [layer.qkv, layer.o, *layer.feed_forward.products.values()]
    for product in products:
        if not isinstance(product, DenseLinear | Nf4Linear):
            return f"it cannot be captured: {product.kernel}"
    return None


def _forgetting(steps: CapturedSteps) -> Callable[[object], None]:
    """``forget``, to be called with a storage's end; keeps the steps alive no more than it."""
    forget = weakref.WeakMethod(steps.forget)

    def call(_reference: object) -> None:
        if (method := forget()) is not None:
            method()

    return call


def _is_decode(batch: ForwardBatch) -> bool:
    """Whether every request has one row, of which logits are wanted."""
    count = len(batch.segments)
    return count == batch.token_ids.shape[0] == batch.logit_rows.shape[0] <= MOST_ROWS


def _kernels(storage: PagedStorage, shape: DecoderShape) -> RowsKind:
    if find_spec("triton") is None:
        raise ImportError("Triton is not installed")
    from engine.model.captured.kernel_rows import KernelKind  # noqa: PLC0415 - imports Triton

    processors = torch.cuda.get_device_properties(storage.device).multi_processor_count
    return KernelKind(Places.of(storage), shape, processors)


def _gathered(storage: PagedStorage, shape: DecoderShape) -> RowsKind:
    return GatheredKind(Places.of(storage), shape)
