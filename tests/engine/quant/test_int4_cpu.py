"""INT4 products against their slow twins, on odd sizes."""

import pytest
import torch

from engine.quant import int4_cpu
from engine.quant.int4_cpu import Int4Linear, can_pack, has_fast_int4
from engine.quant.layout import DenseWeight, GroupedInt4Weight
from engine.quant.quantize import to_grouped_int4

pytestmark = pytest.mark.skipif(not has_fast_int4(), reason="no packed INT4 product here")
SIZES = [(64, 32), (1, 32), (7, 96), (65, 64), (130, 576), (960, 64)]


def make(n: int, k: int, group: int = 32) -> GroupedInt4Weight:
    return to_grouped_int4(DenseWeight(torch.randn(n, k)), group)


def row_errors(y: torch.Tensor, expected: torch.Tensor) -> float:
    return float((y - expected).norm() / expected.norm())


@pytest.mark.parametrize(("n", "k"), SIZES)
@pytest.mark.parametrize("m", [1, 3, 63, 64, 130])
def test_agrees_with_the_float_product(n, k, m):
    weight = make(n, k)
    x = torch.randn(m, k)
    y = Int4Linear(weight)(x)
    assert y.shape == (m, n)
    assert y.is_contiguous()
    # scales and activations have eight significant bits
    assert row_errors(y, x @ weight.dequantize().T) < 0.02


@pytest.mark.parametrize(("n", "k"), SIZES)
def test_few_rows_and_many_rows_agree(n, k):
    linear = Int4Linear(make(n, k))
    x = torch.randn(5, k).bfloat16().float()
    assert row_errors(linear(x), linear.multiply_unpacked(x)) < 0.01


@pytest.mark.parametrize("group", [32, 64, 128])
def test_group_sizes(group):
    weight = make(70, 256, group)
    x = torch.randn(4, 256)
    assert can_pack(weight)
    linear = Int4Linear(weight)
    assert row_errors(linear(x), x @ weight.dequantize().T) < 0.02
    assert row_errors(linear.multiply_unpacked(x), x @ weight.dequantize().T) < 0.02


def test_unpacking_in_several_parts(monkeypatch):
    linear = Int4Linear(make(300, 64))
    x = torch.randn(3, 64)
    whole = linear.multiply_unpacked(x)
    monkeypatch.setattr(int4_cpu, "_UNPACK_VALUES", 1)
    torch.testing.assert_close(linear.multiply_unpacked(x), whole)


def test_groups_the_product_cannot_take():
    assert not can_pack(make(8, 48, 16))


def test_bytes_are_half_a_byte_a_weight_and_four_a_group():
    assert Int4Linear(make(128, 64)).nbytes == 128 * 64 // 2 + 128 * 2 * 4
    assert Int4Linear(make(65, 64)).nbytes == 128 * 64 // 2 + 128 * 2 * 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("m", [0, 2, 64])
def test_answers_in_the_dtype_of_x(dtype, m):
    linear = Int4Linear(make(64, 32))
    assert linear(torch.randn(m, 32, dtype=dtype)).dtype == dtype
