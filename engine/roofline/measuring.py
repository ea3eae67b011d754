"""Measures the ceilings: a few seconds, and half a gigabyte for a moment.

How fast memory is read, how fast each product multiplies the rows of a prompt and reads its
weights for one row, and what a step costs beside them. The products and the steps are the
engine's own, native where it has the core.
"""

from functools import partial

import psutil
import torch

from engine.api import Device, Precision
from engine.devices import has_native_bf16, physical_cores
from engine.quant.layout import DenseWeight, Weight
from engine.quant.linear import make_linear
from engine.quant.quantize import to_channel_int8, to_grouped_int4
from engine.roofline.ceilings import Ceilings
from engine.roofline.steps import Kind, measure_attention, measure_layers
from engine.roofline.stopwatch import Stopwatch

BUFFER_BYTES = 512 << 20  # several times any last-level cache
MATRIX = 2_048  # [2048, 2048]
ROWS = 512  # of a prompt: the engine's chunk
CONTEXT = 2_048  # tokens behind a row that attends
ROW_SET_BYTES = 96 << 20  # weights gone through with one row, so that no cache holds them


def measure(threads: int | None = None) -> Ceilings:
    """Measure the GPU where torch finds one, and the CPU. Sets torch's threads back."""
    before = torch.get_num_threads()
    threads = threads or physical_cores()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            computer = _Bench(threads, Device.CPU).run(None)
            if not torch.cuda.is_available():
                return computer
            return _Bench(threads, Device.CUDA).run(computer)
    finally:
        torch.set_num_threads(before)


class _Bench:
    """The measurements on one device."""

    def __init__(self, threads: int, device: Device) -> None:
        self._threads = threads
        self._is_cuda = device is Device.CUDA
        self._device = torch.device(device.value)
        self._watch = Stopwatch(self._device, threads)

    def run(self, host: Ceilings | None) -> Ceilings:
        """Everything; ``host``: what the computer around a GPU does."""
        dense = Kind(Precision.FP32, torch.float32, self._device)
        packed = dense
        if self._is_cuda:
            dense = packed = Kind(Precision.BF16, torch.bfloat16, self._device)
        else:
            packed = Kind(Precision.INT8, torch.float32, self._device)
        layer_s = measure_layers(self._watch, dense)[1]
        step_s, native_s = measure_layers(self._watch, packed)
        attention, cache = measure_attention(self._watch, packed, ROWS, CONTEXT)
        products = {p: self._product(p) for p in Precision if p is not Precision.AUTO}
        return Ceilings(
            device=self._device.type,
            threads=self._threads,
            read_bytes_per_s=self._read(),
            step_s=step_s,
            layer_s=layer_s,
            native_layer_s=native_s,
            attention_flops_per_s=attention,
            cache_bytes_per_s=cache,
            fp32_flops_per_s=products[Precision.FP32][0],
            bf16_flops_per_s=products[Precision.BF16][0],
            int8_flops_per_s=products[Precision.INT8][0],
            int4_flops_per_s=products[Precision.INT4][0],
            fp32_bytes_per_s=products[Precision.FP32][1],
            bf16_bytes_per_s=products[Precision.BF16][1],
            int8_bytes_per_s=products[Precision.INT8][1],
            int4_bytes_per_s=products[Precision.INT4][1],
            host=host,
        )

    def _read(self) -> float:
        room = psutil.virtual_memory().available // 4
        size = max(1 << 20, min(BUFFER_BYTES, room))
        rows = torch.ones(size // 4 // MATRIX, MATRIX, device=self._device)
        row = torch.ones(MATRIX, device=self._device)
        # a sum and a product both read everything once; which is faster depends on the machine
        works = (rows.sum, partial(torch.mv, rows, row))
        return rows.nbytes / min(self._watch.best_reading([work]) for work in works)

    def _product(self, precision: Precision) -> tuple[float, float]:
        """Arithmetic a second with many rows, and weight bytes a second with one."""
        is_narrow = precision is Precision.BF16 and has_native_bf16()
        is_narrow |= self._is_cuda and precision is not Precision.FP32
        compute = torch.bfloat16 if is_narrow else torch.float32
        weight = _weight(precision)
        linear = make_linear(weight, precision, compute, self._device)
        rows = torch.ones(ROWS, MATRIX, dtype=compute, device=self._device)
        flops = 2 * ROWS * MATRIX * MATRIX / self._watch.best([partial(linear, rows)])
        copies = max(2, ROW_SET_BYTES // linear.nbytes)
        linears = [linear]
        linears += [
            make_linear(_copy(weight), precision, compute, self._device) for _ in range(copies - 1)
        ]
        seconds = self._watch.best_reading([partial(each, rows[:1]) for each in linears])
        return flops, linear.nbytes / seconds


def _copy(weight: Weight) -> Weight:
    """The same values in other memory; only dense ones would be shared as they are."""
    return DenseWeight(weight.values.clone()) if isinstance(weight, DenseWeight) else weight


def _weight(precision: Precision) -> Weight:
    """A square matrix in the canonical form that ``precision`` is packed from."""
    values = torch.randn(MATRIX, MATRIX, generator=torch.Generator().manual_seed(0))
    match precision:
        case Precision.INT8:
            return to_channel_int8(DenseWeight(values))
        case Precision.INT4:
            return to_grouped_int4(DenseWeight(values))
        case _:
            return DenseWeight(values)
