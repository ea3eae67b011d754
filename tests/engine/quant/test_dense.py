"""Dense products, and BF16 weights on a CPU that has no BF16 arithmetic."""

import pytest
import torch

from engine.quant.dense import DenseLinear, WidenedLinear
from engine.quant.layout import DenseWeight

CPU = torch.device("cpu")


@pytest.mark.parametrize("m", [0, 1, 5])
def test_float32_is_the_plain_product(m):
    values = torch.randn(7, 9)
    linear = DenseLinear(DenseWeight(values), torch.float32, CPU)
    x = torch.randn(m, 9)
    assert torch.equal(linear(x), torch.nn.functional.linear(x, values))
    assert linear.nbytes == 7 * 9 * 4
    assert (linear.in_features, linear.out_features) == (9, 7)


@pytest.mark.parametrize("m", [1, 3, 4, 50])
def test_widened_agrees_with_the_float_product(m):
    values = torch.randn(300, 64)
    linear = WidenedLinear(DenseWeight(values))
    x = torch.randn(m, 64)
    expected = x @ values.bfloat16().float().T
    error = (linear(x) - expected).norm() / expected.norm()
    assert error < 0.01
    assert linear.nbytes == 300 * 64 * 2


def test_shares_a_table_of_the_same_type():
    values = torch.randn(4, 4)
    linear = DenseLinear(DenseWeight(values), torch.float32, CPU)
    assert linear.values.data_ptr() == values.data_ptr()
