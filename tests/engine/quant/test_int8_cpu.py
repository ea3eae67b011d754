"""INT8 products against their slow twin, on odd sizes and hostile rows."""

import pytest
import torch

from engine.quant.int8_cpu import Int8Linear, Int8TableLinear, has_fast_int8
from engine.quant.layout import DenseWeight
from engine.quant.quantize import to_channel_int8

pytestmark = pytest.mark.skipif(not has_fast_int8(), reason="no exact INT8 product here")
KERNELS = [Int8Linear, Int8TableLinear]


def row_errors(y: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    return (y - expected).norm(dim=1) / expected.norm(dim=1)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "k"), [(96, 64), (1, 1), (7, 33), (130, 576), (64, 15)])
@pytest.mark.parametrize("m", [1, 2, 17, 140])
def test_agrees_with_the_float_product(kernel, n, k, m):
    weight = to_channel_int8(DenseWeight(torch.randn(n, k)))
    linear = kernel(weight)
    x = torch.randn(m, k)
    y = linear(x)
    assert y.shape == (m, n)
    # one rounding step of x, summed over K products of unit size
    tolerance = 4 * float(x.abs().max()) / 127 * k**0.5
    torch.testing.assert_close(y, x @ weight.dequantize().T, rtol=0, atol=tolerance)
    assert (linear.in_features, linear.out_features) == (k, n)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_massive_row_spoils_no_other(kernel):
    weight = to_channel_int8(DenseWeight(torch.randn(64, 128)))
    x = torch.randn(40, 128)
    x[0, 5] = 3_000
    errors = row_errors(kernel(weight)(x), x @ weight.dequantize().T)
    assert errors.max() < 0.03


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_row_does_not_depend_on_its_batch(kernel):
    weight = to_channel_int8(DenseWeight(torch.randn(64, 128)))
    x = torch.randn(9, 128) * torch.logspace(-3, 3, 9).unsqueeze(1)
    linear = kernel(weight)
    alone = torch.cat([linear(row) for row in x.split(1)])
    assert row_errors(linear(x), alone).max() < 0.02


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_of_zeros(kernel):
    linear = kernel(to_channel_int8(DenseWeight(torch.randn(16, 32))))
    x = torch.randn(3, 32)
    x[1] = 0
    assert torch.equal(linear(x)[1], torch.zeros(16))
    assert torch.equal(linear(torch.zeros(1, 32)), torch.zeros(1, 16))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_answers_in_the_dtype_of_x(kernel, dtype):
    linear = kernel(to_channel_int8(DenseWeight(torch.randn(16, 32))))
    assert linear(torch.randn(2, 32, dtype=dtype)).dtype == dtype
    assert linear(torch.randn(0, 32, dtype=dtype)).shape == (0, 16)


def test_bytes():
    weight = to_channel_int8(DenseWeight(torch.randn(16, 32)))
    assert Int8TableLinear(weight).nbytes == weight.nbytes
    assert Int8Linear(weight).nbytes >= weight.nbytes


@pytest.mark.parametrize("make", [Int8Linear, Int8TableLinear])
@pytest.mark.parametrize("rows", [1, 7])
def test_massive_activations_do_not_round_the_rest_away(make, rows):
    weight = to_channel_int8(DenseWeight(torch.randn(64, 256)))
    x = torch.randn(rows, 256)
    x[:, 17] = 60
    error = make(weight)(x) - x @ weight.dequantize().t()
    quiet = x.clone()
    quiet[:, 17] = 0
    # one step for the whole row would be 60 / 127, about 0.14 of it lost a value
    assert error.norm() / (quiet @ weight.dequantize().t()).norm() < 0.03
