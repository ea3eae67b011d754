"""Which kernel a matrix gets, and that every choice multiplies rightly."""

import pytest
import torch

from engine.api import Precision
from engine.quant import linear as linear_module
from engine.quant.dense import DenseLinear, WidenedLinear
from engine.quant.int4_cpu import Int4Linear, has_fast_int4
from engine.quant.int8_cpu import Int8Linear, has_fast_int8
from engine.quant.layout import DenseWeight, GroupedInt8Weight, Weight
from engine.quant.linear import make_linear
from engine.quant.quantize import to_channel_int8, to_grouped_int4

CPU = torch.device("cpu")
FAST = pytest.mark.skipif(
    not (has_fast_int4() and has_fast_int8()), reason="no fast integer products here"
)


def dense(n: int = 48, k: int = 64) -> DenseWeight:
    return DenseWeight(torch.randn(n, k))


def eight_bit() -> GroupedInt8Weight:
    quants = torch.randint(-128, 128, (48, 64), dtype=torch.int8)
    return GroupedInt8Weight(quants, torch.rand(48, 2))


def make(weight: Weight, precision: Precision, dtype: torch.dtype = torch.float32):
    return make_linear(weight, precision, dtype, CPU)


@FAST
@pytest.mark.parametrize(
    ("weight", "precision", "kind"),
    [
        (dense(), Precision.FP32, DenseLinear),
        (dense(), Precision.BF16, WidenedLinear),
        (dense(), Precision.INT8, Int8Linear),
        (dense(), Precision.INT4, Int4Linear),
        (dense(), Precision.AUTO, Int8Linear),
        (to_grouped_int4(dense()), Precision.AUTO, Int4Linear),
        (to_grouped_int4(dense()), Precision.INT8, Int8Linear),
        (eight_bit(), Precision.AUTO, Int8Linear),
        (eight_bit(), Precision.INT4, Int4Linear),
        (to_channel_int8(dense()), Precision.INT8, Int8Linear),
        (dense(48, 40), Precision.INT4, Int8Linear),  # no whole groups of 32
    ],
)
def test_choice(weight, precision, kind):
    linear = make(weight, precision)
    assert type(linear) is kind
    assert linear.kernel
    x = torch.randn(3, weight.shape[1])
    expected = x @ weight.dequantize().T
    assert (linear(x) - expected).norm() / expected.norm() < 0.12


def test_native_bf16_is_dense():
    linear = make(dense(), Precision.BF16, torch.bfloat16)
    assert type(linear) is DenseLinear
    assert linear.nbytes == 48 * 64 * 2


def test_without_fast_products_all_is_dense(monkeypatch):
    monkeypatch.setattr(linear_module, "has_fast_int4", bool)
    monkeypatch.setattr(linear_module, "has_fast_int8", bool)
    for precision in (Precision.INT4, Precision.INT8, Precision.AUTO):
        assert type(make(dense(), precision)) is DenseLinear


@FAST
def test_odd_groups_are_fitted_again():
    weight = to_grouped_int4(dense(48, 96), 16)
    assert type(make(weight, Precision.INT4)) is Int4Linear
