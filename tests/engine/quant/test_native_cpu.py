"""The native products as the decoder gets them; their numbers are tested in engine/kernels."""

import pytest
import torch

from engine.api import Precision
from engine.kernels.library import open_core
from engine.quant import native_cpu
from engine.quant.embedding import make_tied
from engine.quant.layout import DenseWeight, GroupedInt8Weight
from engine.quant.linear import make_linear
from engine.quant.native_cpu import NativeLinear, make_native, to_grouped_int8
from engine.quant.quantize import to_channel_int8, to_grouped_int4

CPU = torch.device("cpu")
pytestmark = pytest.mark.skipif(open_core() is None, reason="the native core was not built")


def dense(n=48, k=128):
    return DenseWeight(torch.randn(n, k))


def eight_bit():
    quants = torch.randint(-128, 128, (48, 64), dtype=torch.int8)
    return GroupedInt8Weight(quants, torch.rand(48, 2).half().float())


def error(y, expected):
    return float((y.float() - expected).norm() / expected.norm())


WEIGHTS = [
    (dense(), Precision.INT8, 0.012),
    (dense(), Precision.INT4, 0.12),
    (to_grouped_int4(dense()), Precision.INT4, 0.012),
    (to_grouped_int4(dense(), 128), Precision.INT4, 0.012),
    (to_grouped_int4(dense(), 16), Precision.INT4, 0.12),
    (to_channel_int8(dense()), Precision.INT8, 0.012),
    (eight_bit(), Precision.INT8, 0.012),
]


@pytest.mark.usefixtures("native_products")
@pytest.mark.parametrize(("weight", "precision", "tolerance"), WEIGHTS)
def test_multiplies_as_the_float_product_does(weight, precision, tolerance):
    linear = make_linear(weight, precision, torch.float32, CPU)
    assert type(linear) is NativeLinear
    assert (linear.out_features, linear.in_features) == weight.shape
    x = torch.randn(5, weight.shape[1])
    assert error(linear(x), x @ weight.dequantize().T) < tolerance


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_answers_in_the_dtype_of_x(dtype):
    linear = make_native(dense(), Precision.INT8)
    y = linear(torch.randn(2, 128, dtype=dtype))
    assert y.dtype == dtype
    assert y.shape == (2, 48)


def test_takes_rows_that_are_not_contiguous():
    weight = to_channel_int8(dense())
    linear = make_native(weight, Precision.INT8)
    x = torch.randn(128, 3).t()
    assert torch.equal(linear(x), linear(x.contiguous()))


def test_says_which_product_runs():
    assert "INT4 product (" in make_native(dense(), Precision.INT4).kernel
    assert "a scale a row" in make_native(to_channel_int8(dense()), Precision.INT8).kernel


@pytest.mark.usefixtures("native_products")
def test_columns_without_whole_groups_go_elsewhere():
    weight = dense(48, 40)
    assert make_native(weight, Precision.INT4) is None
    assert type(make_linear(weight, Precision.INT4, torch.float32, CPU)) is not NativeLinear


def test_without_the_core_nothing_is_made(monkeypatch):
    monkeypatch.setattr(native_cpu, "open_core", lambda: None)
    assert make_native(dense(), Precision.INT8) is None


@pytest.mark.usefixtures("native_products")
@pytest.mark.parametrize("weight", [eight_bit(), to_grouped_int4(dense())])
def test_tied_table_is_read_out_of_the_head(weight):
    embedding, head = make_tied(weight, Precision.AUTO, torch.float32, CPU)
    assert type(head) is NativeLinear
    assert embedding.nbytes == 0
    ids = torch.tensor([47, 0, 3, 3])
    assert error(embedding(ids), weight.dequantize()[ids]) < 1e-3


def test_eight_bits_in_groups_lose_little():
    weight = dense(70, 96)
    grouped = to_grouped_int8(weight)
    assert error(grouped.dequantize(), weight.values) < 0.012
    assert to_grouped_int8(grouped) is grouped


def test_groups_of_zeros():
    grouped = to_grouped_int8(DenseWeight(torch.zeros(4, 64)))
    assert torch.equal(grouped.dequantize(), torch.zeros(4, 64))


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_eight_bits_are_never_worse_than_a_scale_a_row(seed):
    draw = torch.Generator().manual_seed(seed)
    values = torch.randn(48, 256, generator=draw) * 0.1
    values[:, seed::37] *= 12  # the few large columns of real models
    exact = DenseWeight(values)
    groups = (to_grouped_int8(exact).dequantize() - values).square().sum(1)
    rows = (to_channel_int8(exact).dequantize() - values).square().sum(1)
    assert (groups <= rows).all()
    assert groups.sum() < 0.5 * rows.sum()
