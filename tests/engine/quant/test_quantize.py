"""Quantising floats: small errors, exact round trips, awkward rows."""

import pytest
import torch

from engine.quant import quantize
from engine.quant.layout import DenseWeight, GroupedInt4Weight
from engine.quant.quantize import row_blocks, split_groups, to_channel_int8, to_grouped_int4


def relative_error(weight, values: torch.Tensor) -> float:
    return float((weight.dequantize() - values).norm() / values.norm())


def test_int8_error():
    values = torch.randn(40, 96)
    assert relative_error(to_channel_int8(DenseWeight(values)), values) < 0.01


def test_int8_uses_the_whole_range_of_each_row():
    values = torch.randn(8, 64) * torch.logspace(-6, 6, 8).unsqueeze(1)
    quants = to_channel_int8(DenseWeight(values)).quants
    assert (quants.abs().amax(dim=1) == 127).all()


def test_int4_beats_the_plain_range():
    values = torch.randn(64, 128)
    groups = values.view(-1, 32)
    low, high = groups.aminmax(dim=1, keepdim=True)
    step = (high - low) / 15
    plain = ((groups - low) / step).round() * step + low
    ours = to_grouped_int4(DenseWeight(values))
    plain_error = float((plain - groups).norm() / groups.norm())
    assert relative_error(ours, values) < plain_error


@pytest.mark.parametrize("group_size", [32, 64])
def test_int4_on_its_own_grid_is_exact(group_size):
    shape = (4, 128 // group_size)
    quants = torch.randint(0, 16, (4, 128), dtype=torch.uint8)
    quants[:, ::group_size] = 0
    quants[:, 1::group_size] = 15
    weight = GroupedInt4Weight(quants, torch.rand(shape) + 0.1, torch.randn(shape))
    again = to_grouped_int4(DenseWeight(weight.dequantize()), group_size)
    torch.testing.assert_close(again.dequantize(), weight.dequantize(), rtol=1e-5, atol=1e-5)


def test_four_bit_groups_are_not_quantised_again():
    weight = to_grouped_int4(DenseWeight(torch.randn(4, 64)))
    assert to_grouped_int4(weight) is weight


@pytest.mark.parametrize("value", [0.0, -2.5, 1e-30])
def test_constant_rows(value):
    values = torch.full((3, 64), value)
    for weight in (to_channel_int8(DenseWeight(values)), to_grouped_int4(DenseWeight(values))):
        torch.testing.assert_close(weight.dequantize(), values)


def test_large_matrices_in_blocks(monkeypatch):
    values = torch.randn(10, 64)
    whole = to_grouped_int4(DenseWeight(values)), to_channel_int8(DenseWeight(values))
    monkeypatch.setattr(quantize, "_BLOCK_VALUES", 3 * 64)
    blocks = list(row_blocks(DenseWeight(values)))
    assert [part.shape[0] for _, part in blocks] == [3, 3, 3, 1]
    parts = to_grouped_int4(DenseWeight(values)), to_channel_int8(DenseWeight(values))
    for one, other in zip(whole, parts, strict=True):
        assert torch.equal(one.dequantize(), other.dequantize())


def test_large_groups_are_split_without_loss():
    weight = GroupedInt4Weight(
        torch.randint(0, 16, (8, 512), dtype=torch.uint8), torch.rand(8, 1), torch.rand(8, 1)
    )
    split = split_groups(weight, (32, 64, 128))
    assert split.group_size == 128
    assert torch.equal(split.dequantize(), weight.dequantize())
    assert split_groups(split, (32, 64, 128)) is split
    assert split_groups(weight, (48,)) is weight
