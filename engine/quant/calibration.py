"""INT4 grids chosen by what they do to a product's output, not to its weights.

A rounding error matters as much as the inputs it is multiplied by, and errors of inputs that come
and go together can cancel. So weights are rounded column by column, and what each rounding adds
to the output is taken back by the columns still to come (GPTQ, arXiv:2210.17323); the grid of
each group is fitted to the weights as they are by then, large inputs counting for more (the idea
of AWQ, arXiv:2306.00978). Then single quants are moved, and all scales and offsets fitted again,
wherever that still brings the output closer. What comes out is an ordinary GroupedInt4Weight.

Everything is column-major here: values [K, n] of n rows of the matrix.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from engine.quant.layout import GroupedInt4Weight, Weight
from engine.quant.quantize import row_blocks, to_grouped_int4

GROUP_SIZE = 32
WIDEST = 4_096  # columns that compensate one another; bounds memory and time
_BLOCK = 128  # columns rounded before the others are told
_DAMPING = 0.2  # of the mean power of an input, added to each: the text is short
_SHARES = (1.0, 0.9, 0.8)  # of a group's range, tried as the first grid
_REFITS = 2
_SWEEPS = 1


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Columns that are rounded with an eye on one another.

    ``covariance`` [k, k] of their inputs, damped; ``factor``: the upper Cholesky factor of its
    inverse. Row i of the factor says what the later columns do about an error in column i.
    """

    columns: slice
    covariance: torch.Tensor
    factor: torch.Tensor


@dataclass(slots=True, eq=False)
class _Grid:
    """quants [k, n], 0 to 15 as floats; scales and offsets [k / GROUP_SIZE, n]."""

    quants: torch.Tensor
    scales: torch.Tensor
    offsets: torch.Tensor

    @classmethod
    def empty(cls, columns: int, rows: int) -> "_Grid":
        groups = columns // GROUP_SIZE
        return cls(
            torch.empty(columns, rows), torch.empty(groups, rows), torch.empty(groups, rows)
        )

    def values(self) -> torch.Tensor:
        """What the quants stand for, [k, n]."""
        groups = self.quants.view(-1, GROUP_SIZE, self.quants.shape[1])
        return (groups * self.scales.unsqueeze(1) + self.offsets.unsqueeze(1)).view_as(self.quants)


class OutputFit:
    """Quantises matrices that are multiplied by the same inputs."""

    def __init__(self, inputs: torch.Tensor, check: Callable[[], None]) -> None:
        """Look at ``inputs``, float32 [T, K], K a multiple of 32; not kept.

        ``check`` is called often and may raise to stop. Holds 2 x 4 bytes for each pair of
        columns in a part of at most 4,096.
        """
        self._check = check
        columns = inputs.shape[1]
        step = -(-columns // math.ceil(columns / WIDEST))
        step = -(-step // GROUP_SIZE) * GROUP_SIZE
        parts = []
        for start in range(0, columns, step):
            check()
            parts.append(_part(slice(start, min(start + step, columns)), inputs))
        # inputs that are no numbers, or all zero, say nothing
        self._parts = [part for part in parts if part is not None]
        self._is_usable = len(self._parts) == len(parts)

    def fit(self, weight: Weight) -> GroupedInt4Weight:
        """Quantise ``weight`` [N, K] in groups of 32. Works on some rows at a time."""
        if not self._is_usable:
            return to_grouped_int4(weight, GROUP_SIZE)
        rows, columns = weight.shape
        groups = (rows, columns // GROUP_SIZE)
        result = GroupedInt4Weight(
            torch.empty(rows, columns, dtype=torch.uint8), torch.empty(groups), torch.empty(groups)
        )
        for where, values in row_blocks(weight):
            for part in self._parts:
                first, last = part.columns.start, part.columns.stop
                grid = self._fit_part(values[:, part.columns].t().contiguous(), part)
                result.quants[where, part.columns] = grid.quants.t().to(torch.uint8)
                of_part = slice(first // GROUP_SIZE, last // GROUP_SIZE)
                result.scales[where, of_part] = grid.scales.t()
                result.offsets[where, of_part] = grid.offsets.t()
        return result

    def _fit_part(self, values: torch.Tensor, part: _Part) -> _Grid:
        grid = _round_in_order(values.clone(), part.factor, self._check)
        for _ in range(_SWEEPS):
            _move_quants_(grid, values, part.covariance, self._check)
            _refit_(grid, values, part.covariance, self._check)
        return grid


def _part(columns: slice, inputs: torch.Tensor) -> _Part | None:
    """None where the inputs have no usable covariance."""
    rows = inputs[:, columns].float()
    covariance = rows.t() @ rows
    covariance /= rows.shape[0]
    mean = float(covariance.diagonal().mean())
    if not (math.isfinite(mean) and mean > 0):
        return None
    covariance /= mean
    covariance.diagonal().add_(_DAMPING)
    lower, failed = torch.linalg.cholesky_ex(covariance)
    if int(failed):
        return None
    inverse = torch.cholesky_inverse(lower)
    factor, failed = torch.linalg.cholesky_ex(inverse, upper=True)
    return None if int(failed) else _Part(columns, covariance, factor)


def _round_in_order(
    values: torch.Tensor, factor: torch.Tensor, check: Callable[[], None]
) -> _Grid:
    """Round column after column; later ones make up for it. Changes ``values`` [k, n]."""
    columns, rows = values.shape
    grid = _Grid.empty(columns, rows)
    importance = factor.diagonal().square().reciprocal()
    for start in range(0, columns, _BLOCK):
        check()
        end = min(start + _BLOCK, columns)
        block, within = values[start:end], factor[start:end, start:end]
        errors = torch.empty_like(block)
        for i in range(end - start):
            column = start + i
            group = column // GROUP_SIZE
            if column % GROUP_SIZE == 0:
                members = slice(column, column + GROUP_SIZE)
                scales, offsets = _fit_group(values[members], importance[members])
                grid.scales[group], grid.offsets[group] = scales, offsets
            scales, offsets = grid.scales[group], grid.offsets[group]
            quants = ((block[i] - offsets) / scales).round_().clamp_(0, 15)
            grid.quants[column] = quants
            errors[i] = (block[i] - quants.mul(scales).add_(offsets)) / within[i, i]
            block[i + 1 :].addr_(within[i, i + 1 :], errors[i], alpha=-1)
        if end < columns:
            values[end:].addmm_(factor[start:end, end:].t(), errors, alpha=-1)
    return grid


def _fit_group(
    values: torch.Tensor, importance: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The grid of least weighted squared error for each column of values [GROUP_SIZE, n].

    Starts from the range, whole and shrunk, and alternates between rounding and the weighted
    least-squares line through the quants. Returns scales and offsets [n].
    """
    weights = importance / importance.sum()
    low, high = values.amin(0), values.amax(0)
    mean_value = weights @ values
    best_scales = best_offsets = best_error = torch.empty(0)
    for share in _SHARES:
        scales = (high - low) * (share / 15)
        scales = torch.where(scales > 0, scales, 1.0)
        offsets = low + (high - low) * ((1 - share) / 2)
        for last in (*[False] * _REFITS, True):
            quants = ((values - offsets) / scales).round_().clamp_(0, 15)
            error = weights @ (quants * scales + offsets - values).square_()
            if best_error.numel():
                better = error < best_error
                best_scales = torch.where(better, scales, best_scales)
                best_offsets = torch.where(better, offsets, best_offsets)
                best_error = torch.where(better, error, best_error)
            else:
                best_scales, best_offsets, best_error = scales, offsets, error
            if last:
                break
            mean_quant = weights @ quants
            variance = weights @ quants.square() - mean_quant.square()
            slope = (weights @ (quants * values) - mean_quant * mean_value) / variance
            scales = torch.where((variance > 1e-6) & (slope > 0), slope, scales)
            offsets = mean_value - scales * mean_quant
    return best_scales, best_offsets


def _move_quants_(
    grid: _Grid, values: torch.Tensor, covariance: torch.Tensor, check: Callable[[], None]
) -> None:
    """Give each quant in turn the level that is best for the output, all others as they are."""
    columns = values.shape[0]
    present = grid.values()
    pull = covariance @ (values - present)  # minus half the gradient of the output's error
    for start in range(0, columns, _BLOCK):
        check()
        end = min(start + _BLOCK, columns)
        within = covariance[start:end, start:end]
        moved = torch.zeros(end - start, values.shape[1])
        for i in range(end - start):
            column = start + i
            scales = grid.scales[column // GROUP_SIZE]
            offsets = grid.offsets[column // GROUP_SIZE]
            wanted = present[column] + pull[column] / within[i, i]
            quants = ((wanted - offsets) / scales).round_().clamp_(0, 15)
            moved[i] = quants.mul(scales).add_(offsets) - present[column]
            grid.quants[column] = quants
            pull[start:end].addr_(within[:, i], moved[i], alpha=-1)
        pull[end:].addmm_(covariance[end:, start:end], moved, alpha=-1)
        # those before the block are done with


def _refit_(
    grid: _Grid, values: torch.Tensor, covariance: torch.Tensor, check: Callable[[], None]
) -> None:
    """Give each group in turn the scale and offset that are best for the output."""
    pull = covariance @ (values - grid.values())
    for group in range(grid.scales.shape[0]):
        check()
        members = slice(group * GROUP_SIZE, (group + 1) * GROUP_SIZE)
        quants, within = grid.quants[members], covariance[members, members]
        # two unknowns: minimise over (scale, offset) with the normal equations
        both = within @ quants
        qq, q1, one = (quants * both).sum(0), both.sum(0), within.sum()
        pull_q, pull_1 = (quants * pull[members]).sum(0), pull[members].sum(0)
        determinant = qq * one - q1.square()
        is_sound = determinant > 1e-5 * qq * one
        determinant = torch.where(is_sound, determinant, 1.0)
        scale = torch.where(is_sound, (pull_q * one - q1 * pull_1) / determinant, 0.0)
        offset = torch.where(is_sound, (qq * pull_1 - q1 * pull_q) / determinant, 0.0)
        grid.scales[group] += scale
        grid.offsets[group] += offset
        pull.addmm_(covariance[:, members], quants * scale + offset, alpha=-1)
