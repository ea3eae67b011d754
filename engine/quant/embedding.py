"""Token embeddings: rows of [vocab_size, hidden], dequantised only when asked for."""

import torch

from engine.api import Precision
from engine.quant.int8_cpu import Int8TableLinear, has_fast_int8
from engine.quant.layout import (
    ChannelInt8Weight,
    DenseWeight,
    GroupedInt4Weight,
    GroupedInt8Weight,
    Weight,
)
from engine.quant.linear import Linear, make_dense, make_linear
from engine.quant.native_cpu import PackedTable, make_native
from engine.quant.quantize import to_channel_int8


class Embedding:
    """ids int64 [T] -> rows [T, hidden] in the compute dtype.

    Keeps the table in the form it came in, so that an INT8 table stays one byte a value.
    """

    def __init__(
        self,
        weight: Weight,
        compute_dtype: torch.dtype,
        device: torch.device,
        *,
        is_shared: bool = False,
    ) -> None:
        """Take the table. ``is_shared``: the head owns the memory, so ``nbytes`` is 0."""
        self._weight = _compact(weight, compute_dtype, device)
        self._compute_dtype = compute_dtype
        self._is_shared = is_shared
        self._packed: PackedTable | None = None  # where it is read in the type that is wanted
        if isinstance(self._weight, PackedTable) and compute_dtype == torch.float32:
            self._packed = self._weight

    @property
    def nbytes(self) -> int:
        """Bytes allocated for the table, beside those of a head that shares it."""
        return 0 if self._is_shared else self._weight.nbytes

    def __call__(self, ids: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """Look up ``ids``: [T, hidden], a new tensor or ``out``, which may be left aside.

        ``out``: contiguous, of the result's shape and type.
        """
        if self._packed is not None:
            return self._packed.read(ids, out)
        return self._weight.rows(ids).dequantize().to(self._compute_dtype)


def make_tied(
    weight: Weight, precision: Precision, compute_dtype: torch.dtype, device: torch.device
) -> tuple[Embedding, Linear]:
    """An embedding and the head that is its transpose, in one copy of the table where possible.

    Dense tables are shared as they are. INT8 ones on the CPU are shared as INT8 with one scale a
    row, or as the native core packs them; so are those of INT4 and AUTO, unless the file keeps
    them in 4 bits, which the native core can share too. Elsewhere (torch's INT4, CUDA) the packed
    product cannot be read by rows and each keeps its own.
    """
    if precision in {Precision.FP32, Precision.BF16}:
        dense = make_dense(weight, precision, compute_dtype, device)
        table = DenseWeight(dense.values)
        return Embedding(table, compute_dtype, device, is_shared=True), dense
    # a head of 4 bits made from wider values costs far more likelihood than all layers together,
    # and a table of 8 bits that both share takes no more memory than one each
    is_eight_bit = precision is Precision.INT8 or not isinstance(weight, GroupedInt4Weight)
    if device.type == "cpu":
        native = make_native(weight, Precision.INT8 if is_eight_bit else Precision.INT4)
        if native is not None:
            packed = PackedTable(native.matrix)
            return Embedding(packed, compute_dtype, device, is_shared=True), native
    if is_eight_bit and device.type == "cpu" and has_fast_int8():
        channel = to_channel_int8(weight)
        head = Int8TableLinear(channel)
        return Embedding(channel, compute_dtype, device, is_shared=True), head
    head_only = make_linear(weight, precision, compute_dtype, device)
    return Embedding(weight, compute_dtype, device), head_only


def _compact(weight: Weight, compute_dtype: torch.dtype, device: torch.device) -> Weight:
    """The table on its device, no wider than rows are wanted, half-precision scales kept half."""
    match weight:
        case DenseWeight(values=values):
            is_wider = values.element_size() > compute_dtype.itemsize
            return DenseWeight(values.to(device, compute_dtype if is_wider else values.dtype))
        case GroupedInt8Weight(quants=quants, scales=scales, offsets=None):
            half = scales.half()
            kept = half if torch.equal(half.float(), scales.float()) else scales
            return GroupedInt8Weight(quants.to(device), kept.to(device))
        case ChannelInt8Weight(quants=quants, scales=scales):
            return ChannelInt8Weight(quants.to(device), scales.to(device))
        case PackedTable():
            return weight
        case _:
            return _compact(to_channel_int8(weight), compute_dtype, device)
