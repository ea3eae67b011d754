"""Canonical weights: values, row selection, stacking, honest bytes."""

import pytest
import torch

from engine.quant.layout import (
    ChannelInt8Weight,
    DenseWeight,
    GroupedInt4Weight,
    GroupedInt8Weight,
    concat_rows,
)


def int4(rows: int = 6, columns: int = 64, group: int = 32) -> GroupedInt4Weight:
    groups = (rows, columns // group)
    quants = torch.randint(0, 16, (rows, columns), dtype=torch.uint8)
    return GroupedInt4Weight(quants, torch.rand(groups), torch.randn(groups))


def int8(rows: int = 6, offsets: bool = False) -> GroupedInt8Weight:
    quants = torch.randint(-128, 128, (rows, 64), dtype=torch.int8)
    return GroupedInt8Weight(
        quants, torch.rand(rows, 2), torch.randn(rows, 2) if offsets else None
    )


def channel(rows: int = 6) -> ChannelInt8Weight:
    return ChannelInt8Weight(
        torch.randint(-128, 128, (rows, 64), dtype=torch.int8), torch.rand(rows)
    )


def dense(rows: int = 6) -> DenseWeight:
    return DenseWeight(torch.randn(rows, 64))


ALL = [int4, int8, lambda: int8(offsets=True), channel, dense]


def test_int4_value_is_quant_times_scale_plus_offset():
    weight = int4()
    row, column = 3, 40
    expected = weight.quants[row, column] * weight.scales[row, 1] + weight.offsets[row, 1]
    assert weight.dequantize()[row, column] == expected
    assert weight.group_size == 32


@pytest.mark.parametrize("make", ALL)
def test_rows_select_and_permute(make):
    weight = make()
    order = torch.tensor([5, 0, 0, 2])
    picked = weight.rows(order)
    assert type(picked) is type(weight)
    assert torch.equal(picked.dequantize(), weight.dequantize()[order])


@pytest.mark.parametrize("make", ALL)
def test_dequantize_does_not_touch_the_weight(make):
    weight = make()
    first = weight.dequantize().clone()
    assert torch.equal(weight.dequantize(), first)
    assert first.dtype == torch.float32


@pytest.mark.parametrize("first", ALL)
@pytest.mark.parametrize("second", ALL)
def test_stacking(first, second):
    parts = [first(), second()]
    stacked = concat_rows(parts)
    expected = torch.cat([part.dequantize() for part in parts])
    assert torch.equal(stacked.dequantize(), expected)
    assert stacked.shape == (12, 64)


@pytest.mark.parametrize("make", [int4, int8, channel, dense])
def test_stacking_keeps_a_common_form(make):
    assert type(concat_rows([make(), make()])) is type(make())


def test_stacking_different_groups():
    stacked = concat_rows([int4(group=32), int4(group=64)])
    assert isinstance(stacked, DenseWeight)


def test_one_part_is_returned_as_it_is():
    weight = int4()
    assert concat_rows([weight]) is weight


def test_bytes():
    assert int4().nbytes == 6 * 64 + 2 * 6 * 2 * 4
    assert int8().nbytes == 6 * 64 + 6 * 2 * 4
    assert channel().nbytes == 6 * 64 + 6 * 4
    assert dense().nbytes == 6 * 64 * 4
