"""Embedding lookups, and tables shared with a tied head."""

import pytest
import torch

from engine.api import Precision
from engine.quant.embedding import Embedding, make_tied
from engine.quant.int8_cpu import has_fast_int8
from engine.quant.layout import DenseWeight, GroupedInt8Weight
from engine.quant.quantize import to_channel_int8, to_grouped_int4

CPU = torch.device("cpu")
IDS = torch.tensor([3, 0, 3, 99])


def q8() -> GroupedInt8Weight:
    quants = torch.randint(-128, 128, (100, 64), dtype=torch.int8)
    return GroupedInt8Weight(quants, torch.rand(100, 2).half().float())


@pytest.mark.parametrize(
    "weight", [DenseWeight(torch.randn(100, 64)), q8(), to_channel_int8(q8())]
)
def test_rows(weight):
    embedding = Embedding(weight, torch.float32, CPU)
    rows = embedding(IDS)
    assert torch.equal(rows, weight.dequantize()[IDS])
    rows.zero_()  # a caller may write to what it got
    assert torch.equal(embedding(IDS), weight.dequantize()[IDS])


def test_half_precision_scales_stay_half():
    assert Embedding(q8(), torch.float32, CPU).nbytes == 100 * 64 + 100 * 2 * 2


def test_four_bit_tables_are_kept_in_eight():
    weight = to_grouped_int4(DenseWeight(torch.randn(100, 64)))
    rows = Embedding(weight, torch.float32, CPU)(IDS)
    torch.testing.assert_close(rows, weight.dequantize()[IDS], rtol=0, atol=0.05)


def test_narrow_compute_dtype():
    embedding = Embedding(DenseWeight(torch.randn(100, 64)), torch.bfloat16, CPU)
    assert embedding(IDS).dtype == torch.bfloat16
    assert embedding.nbytes == 100 * 64 * 2


@pytest.mark.parametrize(
    ("precision", "bytes_per_value"),
    [(Precision.FP32, 4), (Precision.BF16, 2), (Precision.INT8, 1), (Precision.AUTO, 1)],
)
def test_tied_tables_are_counted_once(precision, bytes_per_value):
    if bytes_per_value == 1 and not has_fast_int8():
        pytest.skip("no exact INT8 product here")
    weight = q8()
    embedding, head = make_tied(weight, precision, torch.float32, CPU)
    scales = 100 * 4 if bytes_per_value == 1 else 0
    assert embedding.nbytes + head.nbytes == 100 * 64 * bytes_per_value + scales
    x = torch.randn(5, 64)
    expected = x @ weight.dequantize().T
    assert (head(x) - expected).norm() / expected.norm() < 0.02
    rows, exact = embedding(IDS), weight.dequantize()[IDS]
    assert (rows - exact).norm() / exact.norm() < 0.02


def test_a_wider_table_is_shared_in_eight_bits_beside_int4_layers():
    weight = q8()
    embedding, head = make_tied(weight, Precision.INT4, torch.float32, CPU)
    assert embedding.nbytes == 0
    x = torch.randn(5, 64)
    exact = x @ weight.dequantize().T
    assert (head(x) - exact).norm() / exact.norm() < 0.02


@pytest.mark.parametrize("precision", [Precision.FP32, Precision.INT8])
def test_memory_that_is_given_makes_no_difference(precision):
    embedding, _head = make_tied(q8(), precision, torch.float32, CPU)
    rows = torch.full((len(IDS), 64), torch.nan)
    for ids in (IDS, IDS.flip(0)):
        assert torch.equal(embedding(ids, rows), embedding(ids))
