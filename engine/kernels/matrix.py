"""A packed matrix and its product, as tensors: the native core's counterpart of x @ W.T."""

import ctypes
from dataclasses import dataclass

import torch

from engine.kernels import abi
from engine.kernels.library import NativeCore

GROUP_SIZE = 32  # columns that share a scale, of weights and of activations
_LARGEST_HALF = 2.0**15


@dataclass(frozen=True, slots=True, eq=False)
class PackedMatrix:
    """W [rows, columns] in the core's own layout, which is the same on every machine.

    ``data`` owns the memory that ``struct`` points to.
    """

    core: NativeCore
    struct: abi.Matrix
    data: torch.Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.struct.rows, self.struct.columns

    @property
    def nbytes(self) -> int:
        """Bytes of the packed weights with their scales."""
        return self.data.numel()

    def multiply(self, x: torch.Tensor, threads: int) -> torch.Tensor:
        """X [M, columns], contiguous float32 -> x @ W.T, float32 [M, rows].

        Activations are rounded to 8 bits with one scale for each row and 32 columns.
        """
        count = x.shape[0]
        y = torch.empty(count, self.struct.rows)
        if count == 0:
            return y
        failed = self.core.library.tt_multiply(
            self.core.team(threads), threads, self.struct, x.data_ptr(), count, y.data_ptr()
        )
        if failed:
            raise MemoryError("not enough memory for the activations of a product")
        return y

    def rows(self, ids: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """The rows ``ids`` (int64 [n], each in range) as float32 [n, columns].

        ``out``: contiguous and of that shape, where they are to be written (None: a new tensor).
        """
        if out is None:
            out = torch.empty(ids.shape[0], self.struct.columns)
        ids = ids.contiguous()
        self.core.library.tt_unpack_rows(self.struct, ids.data_ptr(), ids.shape[0], out.data_ptr())
        return out


def pack_int4(
    core: NativeCore, quants: torch.Tensor, scales: torch.Tensor, offsets: torch.Tensor
) -> PackedMatrix:
    """Pack value = quant * scale + offset.

    quants: uint8 [N, K], 0 to 15; scales and offsets: float [N, K / 32]. Both are rounded to 16
    bits after a power of two was taken out of all of them. Offsets that are all -8 scales, as in
    GGUF's Q4_0, are not kept: a tenth less to read.
    """
    limit = torch.stack((scales.abs().max(), offsets.abs().max())).max()
    gain = _gain(float(limit))
    if torch.equal(offsets.float(), scales.float() * -8):
        halves = (scales.float() / gain).half().contiguous()
        return _pack(core, abi.KIND_INT4_EVEN, quants, (halves, None, None), gain)
    both = [(part.float() / gain).half().contiguous() for part in (scales, offsets)]
    return _pack(core, abi.KIND_INT4, quants, (both[0], both[1], None), gain)


def pack_int8(core: NativeCore, quants: torch.Tensor, scales: torch.Tensor) -> PackedMatrix:
    """Pack value = quant * scale; quants: int8 [N, K].

    scales: float [N] (kept in full), or [N, K / 32] (rounded as those of INT4).
    """
    if scales.dim() == 1:
        full = scales.float().contiguous()
        return _pack(core, abi.KIND_INT8_ROWS, quants, (None, None, full), 1.0)
    gain = _gain(float(scales.abs().max()))
    halves = (scales.float() / gain).half().contiguous()
    return _pack(core, abi.KIND_INT8_GROUPED, quants, (halves, None, None), gain)


def _gain(limit: float) -> float:
    """The power of two that brings ``limit`` just below the largest half-precision number.

    Small scales would lose digits otherwise, and large ones overflow.
    """
    if not 1e-30 < limit < 1e30:
        return 1.0
    exponent = torch.frexp(torch.tensor(limit / _LARGEST_HALF)).exponent
    return float(2.0 ** int(exponent))


def _pack(
    core: NativeCore,
    kind: int,
    quants: torch.Tensor,
    parts: tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None],
    gain: float,
) -> PackedMatrix:
    rows, columns = quants.shape
    if columns % GROUP_SIZE:
        raise ValueError(f"{columns} columns are not a multiple of {GROUP_SIZE}")
    quants = quants.contiguous()
    size = core.library.tt_packed_bytes(kind, rows, columns)
    data = torch.empty(size, dtype=torch.uint8)  # torch aligns to 64 bytes
    pointers = [None if part is None else part.data_ptr() for part in parts]
    core.library.tt_pack(kind, rows, columns, quants.data_ptr(), *pointers, data.data_ptr())
    struct = abi.Matrix(rows, columns, ctypes.c_void_p(data.data_ptr()), gain, kind)
    return PackedMatrix(core, struct, data)
