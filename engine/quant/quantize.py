"""From floats to our INT8 and INT4 grids, with the smallest error that costs little time.

Works on a few thousand rows at a time, so that the float copy of a large matrix never exists.
"""

from collections.abc import Iterator, Sequence

import torch

from engine.quant.layout import ChannelInt8Weight, GroupedInt4Weight, Weight

_BLOCK_VALUES = 1 << 22
_REFITS = 3
_SHARES = (1.0, 0.9)  # of a group's range, tried as the first grid


def row_blocks(weight: Weight) -> Iterator[tuple[slice, torch.Tensor]]:
    """The float32 values of ``weight``, some rows at a time: (which rows, values [n, K])."""
    num_rows, columns = weight.shape
    step = max(1, _BLOCK_VALUES // columns)
    if num_rows <= step:
        yield slice(0, num_rows), weight.dequantize()
        return
    for start in range(0, num_rows, step):
        end = min(start + step, num_rows)
        yield slice(start, end), weight.rows(torch.arange(start, end)).dequantize()


def to_channel_int8(weight: Weight) -> ChannelInt8Weight:
    """Quantise to 8 bits, symmetric, one scale a row: the largest value of a row becomes 127."""
    if isinstance(weight, ChannelInt8Weight):
        return weight
    quants = torch.empty(weight.shape, dtype=torch.int8)
    scales = torch.empty(weight.shape[0])
    for rows, values in row_blocks(weight):
        limits = values.abs().amax(dim=1)
        scales[rows] = torch.where(limits > 0, limits / 127, 1.0)
        quants[rows] = (values / scales[rows].unsqueeze(1)).round_().to(torch.int8)
    return ChannelInt8Weight(quants, scales)


def split_groups(weight: GroupedInt4Weight, group_sizes: Sequence[int]) -> GroupedInt4Weight:
    """The same values in groups of the largest of ``group_sizes`` that divides the present ones.

    Unchanged where the present size is among them, or none divides it.
    """
    present = weight.group_size
    fitting = [size for size in group_sizes if present % size == 0]
    if not fitting or present in group_sizes:
        return weight
    copies = present // max(fitting)
    return GroupedInt4Weight(
        weight.quants,
        weight.scales.repeat_interleave(copies, dim=1),
        weight.offsets.repeat_interleave(copies, dim=1),
    )


def to_grouped_int4(weight: Weight, group_size: int = 32) -> GroupedInt4Weight:
    """Quantise to 4 bits with a scale and an offset a group; K is a multiple of group_size.

    A GroupedInt4Weight of that group size is returned as it is, one of larger groups split.
    """
    if isinstance(weight, GroupedInt4Weight) and weight.group_size % group_size == 0:
        return split_groups(weight, (group_size,))
    num_rows, columns = weight.shape
    groups = (num_rows, columns // group_size)
    result = GroupedInt4Weight(
        torch.empty(weight.shape, dtype=torch.uint8), torch.empty(groups), torch.empty(groups)
    )
    for rows, values in row_blocks(weight):
        quants, scales, offsets = _fit_groups(values.view(-1, group_size))
        result.quants[rows] = quants.to(torch.uint8).view(-1, columns)
        result.scales[rows] = scales.view(-1, groups[1])
        result.offsets[rows] = offsets.view(-1, groups[1])
    return result


def _fit_groups(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Fit quant * scale + offset to each row of values [groups, size].

    Starts from the row's range, whole and shrunk (a rare value cut off may cost less than wider
    steps for all others), then alternates between the least-squares line through the present
    quants and rounding to that line; each group keeps the best it has seen.
    """
    low, high = values.aminmax(dim=1, keepdim=True)
    grid = _Grid(values, _positive((high - low) / 15), low)
    for share in _SHARES:
        scales = _positive((high - low) * (share / 15))
        offsets = low + (high - low) * ((1 - share) / 2)
        quants = grid.offer(scales, offsets)
        for _ in range(_REFITS):
            scales, offsets = _least_squares(values, quants, scales)
            quants = grid.offer(scales, offsets)
    return grid.quants, grid.scales, grid.offsets


class _Grid:
    """The best grid seen so far for each row of values [groups, size]."""

    def __init__(self, values: torch.Tensor, scales: torch.Tensor, offsets: torch.Tensor) -> None:
        self._values = values
        self.scales = scales
        self.offsets = offsets
        self.quants = _round_to_grid(values, scales, offsets)
        self._error = _squared_error(values, self.quants, scales, offsets)

    def offer(self, scales: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        """Keep this grid where it is better; returns the quants on it."""
        quants = _round_to_grid(self._values, scales, offsets)
        error = _squared_error(self._values, quants, scales, offsets)
        better = error < self._error
        self.scales = torch.where(better, scales, self.scales)
        self.offsets = torch.where(better, offsets, self.offsets)
        self.quants = torch.where(better, quants, self.quants)
        self._error = torch.where(better, error, self._error)
        return quants


def _positive(scales: torch.Tensor) -> torch.Tensor:
    """A group of equal values has no range: any scale does, since its quants are 0."""
    return torch.where(scales > 0, scales, 1.0)


def _round_to_grid(
    values: torch.Tensor, scales: torch.Tensor, offsets: torch.Tensor
) -> torch.Tensor:
    return ((values - offsets) / scales).round_().clamp_(0, 15)


def _squared_error(
    values: torch.Tensor, quants: torch.Tensor, scales: torch.Tensor, offsets: torch.Tensor
) -> torch.Tensor:
    return (quants * scales + offsets - values).square_().sum(dim=1, keepdim=True)


def _least_squares(
    values: torch.Tensor, quants: torch.Tensor, scales: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The line value = scale * quant + offset of least error through each group."""
    mean_quant = quants.mean(dim=1, keepdim=True)
    mean_value = values.mean(dim=1, keepdim=True)
    centred = quants - mean_quant
    variance = centred.square().sum(dim=1, keepdim=True)
    slope = (centred * (values - mean_value)).sum(dim=1, keepdim=True) / variance
    slope = torch.where((variance > 0) & (slope > 0), slope, scales)
    return slope, mean_value - slope * mean_quant
