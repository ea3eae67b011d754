"""Bytes of weights: the textbook's, and what the engine's own products say of themselves."""

from dataclasses import replace

import pytest
import torch

from engine.api import Precision
from engine.kernels.library import open_core
from engine.model.footprint.blueprint import Blueprint, Product
from engine.model.footprint.weights import (
    Target,
    allocated_bytes,
    head_bytes,
    parameter_bytes,
    product_bytes,
    resolve_precision,
)
from engine.planner.find import find_blueprint
from engine.quant.embedding import Embedding, make_tied
from engine.quant.int4_cpu import has_fast_int4
from engine.quant.int8_cpu import has_fast_int8
from engine.quant.layout import DenseWeight
from engine.quant.linear import make_linear
from engine.quant.quantize import to_grouped_int4

EVERY = (Precision.FP32, Precision.BF16, Precision.INT8, Precision.INT4)
CPU = torch.device("cpu")
TARGET = Target(
    has_fast_int4=has_fast_int4(), has_fast_int8=has_fast_int8(), has_core=open_core() is not None
)


def blueprint(**changes) -> Blueprint:
    return replace(find_blueprint("smollm2-135m"), vocab_size=200, hidden_size=64, **changes)


@pytest.mark.parametrize(
    ("precision", "gigabytes"),
    [(Precision.FP32, 28.0), (Precision.BF16, 14.0), (Precision.INT8, 7.0), (Precision.INT4, 3.5)],
)
def test_seven_billion_parameters(precision, gigabytes):
    assert parameter_bytes(7_000_000_000, precision) == gigabytes * 1e9
    # Llama 7B has 6.74 billion, which people round up
    real = parameter_bytes(find_blueprint("llama-7b").num_parameters, precision)
    assert real == pytest.approx(gigabytes * 1e9, rel=0.04)


@pytest.mark.parametrize("precision", EVERY)
@pytest.mark.parametrize("shape", [(96, 64), (64, 96), (130, 128), (48, 40)])
def test_a_product_is_as_large_as_the_engine_makes_it(precision, shape):
    weight = DenseWeight(torch.randn(shape))
    made = make_linear(weight, precision, torch.float32, CPU)
    assert product_bytes(Product(*shape), blueprint(), precision, TARGET) == made.nbytes


@pytest.mark.parametrize("is_part_four_bit", [True, False])
def test_a_four_bit_file_keeps_its_wider_matrices_wide(is_part_four_bit):
    values = DenseWeight(torch.randn(96, 64))
    weight = to_grouped_int4(values) if is_part_four_bit else values
    made = make_linear(weight, Precision.AUTO, torch.float32, CPU)
    product = Product(96, 64, is_four_bit=is_part_four_bit)
    planned = product_bytes(product, blueprint(is_four_bit=True), Precision.INT4, TARGET)
    assert planned == made.nbytes


@pytest.mark.parametrize("precision", EVERY)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_a_shared_table_is_as_large_as_the_engine_makes_it(precision, dtype):
    embedding, head = make_tied(
        DenseWeight(torch.randn(200, 64).to(dtype)), precision, torch.float32, CPU
    )
    form = "16 bits" if dtype == torch.bfloat16 else "32 bits"
    tied = blueprint(products=(), vector_values=0, table_form=form)
    assert allocated_bytes(tied, precision, TARGET) == embedding.nbytes + head.nbytes
    assert head_bytes(tied, precision, TARGET) == head.nbytes


def test_a_table_beside_its_own_head():
    table = Embedding(DenseWeight(torch.randn(200, 64).bfloat16()), torch.float32, CPU)
    head = Product(200, 64)
    untied = blueprint(products=(), vector_values=0, head=head, table_form="16 bits")
    whole = allocated_bytes(untied, Precision.INT8, TARGET)
    assert whole - head_bytes(untied, Precision.INT8, TARGET) == table.nbytes


def test_norms_are_kept_in_the_type_of_the_computation():
    norms = blueprint(products=(), vector_values=1_000)
    bare = blueprint(products=(), vector_values=0)

    def size(precision, target):
        return allocated_bytes(norms, precision, target) - allocated_bytes(bare, precision, target)

    assert size(Precision.INT4, Target()) == 4_000
    assert size(Precision.BF16, Target(has_native_bf16=True)) == 2_000
    assert size(Precision.INT4, Target(is_cuda=True)) == 2_000


def test_auto_is_decided_by_the_file():
    assert resolve_precision(blueprint(is_four_bit=True), Precision.AUTO) is Precision.INT4
    assert resolve_precision(blueprint(), Precision.AUTO) is Precision.INT8
    assert resolve_precision(blueprint(), Precision.FP32) is Precision.FP32


def test_without_fast_products_weights_stay_wide():
    slow = Target(has_fast_int4=False, has_fast_int8=False)
    assert product_bytes(Product(64, 64), blueprint(), Precision.INT4, slow) == 64 * 64 * 4


def test_experts_are_all_in_memory():
    one = blueprint(products=(Product(64, 64),))
    eight = blueprint(products=(Product(64, 64, copies=8, active=2),))
    sizes = [allocated_bytes(b, Precision.INT8, Target()) for b in (one, eight)]
    assert sizes[1] - sizes[0] == 7 * 64 * (64 + 8)


@pytest.mark.parametrize("is_even", [True, False])
def test_groups_around_zero_keep_no_offsets(is_even):
    whole = to_grouped_int4(DenseWeight(torch.randn(96, 64)))
    weight = replace(whole, offsets=whole.scales * -8) if is_even else whole
    made = make_linear(weight, Precision.INT4, torch.float32, CPU)
    product = Product(96, 64, is_four_bit=True, is_even=is_even)
    kept = blueprint(is_four_bit=True)
    assert product_bytes(product, kept, Precision.INT4, TARGET) == made.nbytes
