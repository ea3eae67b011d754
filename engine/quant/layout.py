"""Canonical weights: what a checkpoint says, in a layout no instruction set knows about.

Every matrix is [N, K] (out_features, in_features). Checkpoints are decoded into these forms and
kernels pack from them; nothing here multiplies, and nothing packed is ever written to disk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from typing_extensions import override


class Weight(Protocol):
    """A matrix [N, K] in some canonical form."""

    @property
    def shape(self) -> tuple[int, int]:
        """(N, K), i.e. (out_features, in_features)."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of the tensors held."""
        ...

    def dequantize(self) -> torch.Tensor:
        """The values, float32 [N, K]: a new tensor, or the stored one if it is float32."""
        ...

    def rows(self, index: torch.Tensor) -> "Weight":
        """The rows ``index`` (int64) in that order, in the same form: selection or permutation."""
        ...


def _nbytes(*tensors: torch.Tensor | None) -> int:
    return sum(t.numel() * t.element_size() for t in tensors if t is not None)


@dataclass(frozen=True, slots=True, eq=False)
class DenseWeight(Weight):
    """Plain values, floating point [N, K]."""

    values: torch.Tensor

    @property
    @override
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    @override
    def nbytes(self) -> int:
        return _nbytes(self.values)

    @override
    def dequantize(self) -> torch.Tensor:
        return self.values.float()

    @override
    def rows(self, index: torch.Tensor) -> "DenseWeight":
        return DenseWeight(self.values[index])


def _scale_groups(
    quants: torch.Tensor, scales: torch.Tensor, offsets: torch.Tensor | None
) -> torch.Tensor:
    rows, columns = quants.shape
    groups = quants.view(rows, scales.shape[1], -1).float()
    groups *= scales.float().unsqueeze(-1)
    if offsets is not None:
        groups += offsets.float().unsqueeze(-1)
    return groups.view(rows, columns)


@dataclass(frozen=True, slots=True, eq=False)
class GroupedInt4Weight(Weight):
    """value = quant * scale + offset, one scale and offset a group of K.

    quants: uint8 [N, K], 0 to 15, one a byte; scales, offsets: float32 [N, K / group_size].
    """

    quants: torch.Tensor
    scales: torch.Tensor
    offsets: torch.Tensor

    @property
    def group_size(self) -> int:
        """Values that share a scale."""
        return self.quants.shape[1] // self.scales.shape[1]

    @property
    @override
    def shape(self) -> tuple[int, int]:
        return self.quants.shape[0], self.quants.shape[1]

    @property
    @override
    def nbytes(self) -> int:
        return _nbytes(self.quants, self.scales, self.offsets)

    @override
    def dequantize(self) -> torch.Tensor:
        return _scale_groups(self.quants, self.scales, self.offsets)

    @override
    def rows(self, index: torch.Tensor) -> "GroupedInt4Weight":
        return GroupedInt4Weight(self.quants[index], self.scales[index], self.offsets[index])


@dataclass(frozen=True, slots=True, eq=False)
class GroupedInt8Weight(Weight):
    """value = quant * scale (+ offset), one scale a group of K.

    quants: int8 [N, K]; scales: float32 or float16 [N, K / group_size]; offsets: the same shape,
    or None where the format is symmetric.
    """

    quants: torch.Tensor
    scales: torch.Tensor
    offsets: torch.Tensor | None = None

    @property
    def group_size(self) -> int:
        """Values that share a scale."""
        return self.quants.shape[1] // self.scales.shape[1]

    @property
    @override
    def shape(self) -> tuple[int, int]:
        return self.quants.shape[0], self.quants.shape[1]

    @property
    @override
    def nbytes(self) -> int:
        return _nbytes(self.quants, self.scales, self.offsets)

    @override
    def dequantize(self) -> torch.Tensor:
        return _scale_groups(self.quants, self.scales, self.offsets)

    @override
    def rows(self, index: torch.Tensor) -> "GroupedInt8Weight":
        offsets = None if self.offsets is None else self.offsets[index]
        return GroupedInt8Weight(self.quants[index], self.scales[index], offsets)


@dataclass(frozen=True, slots=True, eq=False)
class ChannelInt8Weight(Weight):
    """value = quant * scale, one scale a row. quants: int8 [N, K]; scales: float32 [N]."""

    quants: torch.Tensor
    scales: torch.Tensor

    @property
    @override
    def shape(self) -> tuple[int, int]:
        return self.quants.shape[0], self.quants.shape[1]

    @property
    @override
    def nbytes(self) -> int:
        return _nbytes(self.quants, self.scales)

    @override
    def dequantize(self) -> torch.Tensor:
        return self.quants.float() * self.scales.unsqueeze(-1)

    @override
    def rows(self, index: torch.Tensor) -> "ChannelInt8Weight":
        return ChannelInt8Weight(self.quants[index], self.scales[index])


def concat_rows(parts: Sequence[Weight]) -> Weight:
    """Stack matrices with the same K along N, e.g. q, k and v into one product.

    Keeps the form where all parts share it (and their group size); parts of different forms
    become one DenseWeight of float32.
    """
    if len(parts) == 1:
        return parts[0]
    int4 = [p for p in parts if isinstance(p, GroupedInt4Weight)]
    if len(int4) == len(parts) and len({p.group_size for p in int4}) == 1:
        return GroupedInt4Weight(
            torch.cat([p.quants for p in int4]),
            torch.cat([p.scales for p in int4]),
            torch.cat([p.offsets for p in int4]),
        )
    int8 = [p for p in parts if isinstance(p, GroupedInt8Weight) and p.offsets is None]
    if len(int8) == len(parts) and len({p.group_size for p in int8}) == 1:
        return GroupedInt8Weight(
            torch.cat([p.quants for p in int8]), torch.cat([p.scales for p in int8])
        )
    channel = [p for p in parts if isinstance(p, ChannelInt8Weight)]
    if len(channel) == len(parts):
        return ChannelInt8Weight(
            torch.cat([p.quants for p in channel]), torch.cat([p.scales for p in channel])
        )
    dense = [p for p in parts if isinstance(p, DenseWeight)]
    if len(dense) == len(parts):
        return DenseWeight(torch.cat([p.values for p in dense]))
    return DenseWeight(torch.cat([p.dequantize() for p in parts]))
