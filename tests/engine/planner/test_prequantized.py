"""Groups of 4 bits stay as they are published."""

import json

import pytest
import torch

from engine.api import Precision
from engine.errors import ModelCorruptError
from engine.kernels.library import open_core
from engine.model.footprint.blueprint import Product
from engine.model.footprint.weights import Target, product_bytes, resolve_precision
from engine.planner.find import SHIPPED, find_blueprint, read_config
from engine.quant.int4_cpu import has_fast_int4
from engine.quant.layout import DenseWeight
from engine.quant.linear import make_linear
from engine.quant.quantize import to_grouped_int4

PLAIN = json.loads((SHIPPED / "llama-3.2-1b.json").read_text("utf-8"))["config"]


def read(**packed):
    return read_config({**PLAIN, "quantization_config": packed}, "x", "x")


@pytest.mark.parametrize(
    "packed",
    [
        {"quant_method": "gptq", "bits": 4, "group_size": 128},
        {"quant_method": "awq", "bits": 4, "group_size": 128},
        {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": True,
         "static_groups": True},
        {"quant_method": "compressed-tensors",
         "config_groups": {"group_0": {"weights": {"num_bits": 4, "group_size": 128}}}},
    ],
)  # fmt: skip
def test_four_bits(packed):
    blueprint = read(**packed)
    assert resolve_precision(blueprint, Precision.AUTO) is Precision.INT4
    assert {product.group for product in blueprint.products} == {128}
    assert all(product.is_four_bit for product in blueprint.products)


@pytest.mark.parametrize(
    "packed",
    [
        {"quant_method": "gptq", "bits": 8, "group_size": 128},
        {"quant_method": "gptq", "bits": 4, "desc_act": True},
        {"quant_method": "bitsandbytes", "load_in_4bit": True},
        {"quant_method": "fp8"},
        {"quant_method": "compressed-tensors",
         "config_groups": {"group_0": {"weights": {"num_bits": 8}}}},
    ],
)  # fmt: skip
def test_everything_else(packed):
    assert read(**packed) == find_blueprint_plain()


def find_blueprint_plain():
    return read_config(PLAIN, "x", "x")


def test_a_group_of_a_whole_row_is_divided():
    assert {product.group for product in read(bits=4, group_size=-1).products} == {256}
    assert find_blueprint("llama-3.2-1b").products[0].group == 32


@pytest.mark.parametrize("packed", [[1], {"bits": "four"}, {"quant_method": 3}])
def test_a_table_that_is_none(packed):
    with pytest.raises(ModelCorruptError):
        read_config({**PLAIN, "quantization_config": packed}, "x", "x")


@pytest.mark.skipif(not has_fast_int4(), reason="no INT4 product here")
@pytest.mark.parametrize("group", [32, 64, 128])
def test_groups_are_as_large_as_the_engine_makes_them(group):
    weight = to_grouped_int4(DenseWeight(torch.randn(96, 256)), group)
    made = make_linear(weight, Precision.AUTO, torch.float32, torch.device("cpu"))
    product = Product(96, 256, is_four_bit=True, group=group)
    blueprint = read(bits=4)
    target = Target(has_core=open_core() is not None)
    assert product_bytes(product, blueprint, Precision.INT4, target) == made.nbytes
