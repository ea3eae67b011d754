"""INT4 and INT8 products of the native core: activations rounded to 8 bits a group of 32.

Slow twin: ``weight.dequantize()`` and a float product, which differ by that rounding alone.
"""

import torch
from typing_extensions import override

from engine.api import Precision
from engine.kernels.library import NativeCore, open_core
from engine.kernels.matrix import GROUP_SIZE, PackedMatrix, pack_int4, pack_int8
from engine.quant.layout import (
    ChannelInt8Weight,
    DenseWeight,
    GroupedInt4Weight,
    GroupedInt8Weight,
    Weight,
)
from engine.quant.product import Linear
from engine.quant.quantize import row_blocks, split_groups, to_grouped_int4


def make_native(weight: Weight, precision: Precision) -> "NativeLinear | None":
    """Pack ``weight`` to INT4 or INT8; None where the core is missing or cannot take its shape."""
    core = None if weight.shape[1] % GROUP_SIZE else open_core()
    if core is None:
        return None
    if precision is Precision.INT4:
        return NativeLinear.of_int4(core, weight)
    return NativeLinear.of_int8(core, weight)


class NativeLinear(Linear):
    """x @ W.T in native code, on as many threads as torch uses."""

    def __init__(self, matrix: PackedMatrix, name: str) -> None:
        """Take a packed matrix; ``name`` says its kind in words."""
        self.matrix = matrix
        self._name = name

    @classmethod
    def of_int4(cls, core: NativeCore, weight: Weight) -> "NativeLinear":
        """Pack ``weight`` to 4 bits in groups of 32; exact if its groups are 32 or a multiple."""
        if isinstance(weight, GroupedInt4Weight):
            weight = split_groups(weight, (GROUP_SIZE,))
        grouped = to_grouped_int4(weight, GROUP_SIZE)
        matrix = pack_int4(core, grouped.quants, grouped.scales, grouped.offsets)
        return cls(matrix, f"INT4 product ({core.instruction_set}), groups of {GROUP_SIZE}")

    @classmethod
    def of_int8(cls, core: NativeCore, weight: Weight) -> "NativeLinear":
        """Pack ``weight`` to 8 bits: a scale a row if it is kept so, else in groups of 32."""
        if isinstance(weight, ChannelInt8Weight):
            matrix = pack_int8(core, weight.quants, weight.scales)
            return cls(matrix, f"INT8 product ({core.instruction_set}), a scale a row")
        grouped = to_grouped_int8(weight)
        matrix = pack_int8(core, grouped.quants, grouped.scales)
        return cls(matrix, f"INT8 product ({core.instruction_set}), groups of {GROUP_SIZE}")

    @property
    @override
    def in_features(self) -> int:
        return self.matrix.shape[1]

    @property
    @override
    def out_features(self) -> int:
        return self.matrix.shape[0]

    @property
    @override
    def nbytes(self) -> int:
        return self.matrix.nbytes

    @property
    @override
    def kernel(self) -> str:
        return self._name

    @override
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.float().contiguous()
        return self.matrix.multiply(rows, torch.get_num_threads()).to(x.dtype)


class PackedTable(Weight):
    """An embedding table read out of the packed head that it shares its memory with."""

    def __init__(self, matrix: PackedMatrix) -> None:
        self._matrix = matrix

    @property
    @override
    def shape(self) -> tuple[int, int]:
        return self._matrix.shape

    @property
    @override
    def nbytes(self) -> int:
        return self._matrix.nbytes

    @override
    def dequantize(self) -> torch.Tensor:
        return self._matrix.rows(torch.arange(self.shape[0]))

    @override
    def rows(self, index: torch.Tensor) -> DenseWeight:
        return DenseWeight(self.read(index))

    def read(self, index: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """The rows ``index`` (int64 [n]) as float32 [n, K], in ``out`` where that is given."""
        return self._matrix.rows(index, out)


def to_grouped_int8(weight: Weight) -> GroupedInt8Weight:
    """Quantise to 8 bits, symmetric, one scale for 32 columns; K is a multiple of 32.

    Symmetric groups of 32 are returned as they are.
    """
    if (
        isinstance(weight, GroupedInt8Weight)
        and weight.offsets is None
        and weight.group_size == GROUP_SIZE
    ):
        return weight
    num_rows, columns = weight.shape
    quants = torch.empty(num_rows, columns, dtype=torch.int8)
    scales = torch.empty(num_rows, columns // GROUP_SIZE)
    for rows, values in row_blocks(weight):
        groups = values.view(values.shape[0], -1, GROUP_SIZE)
        limits = groups.abs().amax(dim=2)
        steps = torch.where(limits > 0, limits / 127, 1.0)
        scales[rows] = steps
        quants[rows] = (groups / steps.unsqueeze(2)).round_().to(torch.int8).view(-1, columns)
    return GroupedInt8Weight(quants, scales)
