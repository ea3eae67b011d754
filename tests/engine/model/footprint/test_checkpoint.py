"""What is counted from an open checkpoint is what its decoder then allocates."""

from contextlib import closing

import pytest
import torch

from engine.api import Device, Precision
from engine.model.footprint.checkpoint import blueprint_of
from engine.model.footprint.target import target_of
from engine.model.footprint.weights import allocated_bytes, embedding_bytes, layer_bytes
from engine.model.gguf_source import GgufSource
from engine.model.hf_source import HfSource
from engine.model.native import NativeDecoder
from tests.helpers.family_folders import FAMILIES, MIXTURE, write_family, write_gptq
from tests.helpers.gguf_files import llama_parameters, write_llama

EVERY = (Precision.INT4, Precision.INT8, Precision.BF16, Precision.FP32)
CPU = torch.device("cpu")


def check(source, precision):
    """Within a hundredth of what a decoder of it allocates; the tolerance is for tiny norms."""
    blueprint = blueprint_of(source)
    planned = allocated_bytes(blueprint, precision, target_of(Device.CPU))
    dtype = torch.float32
    kept = precision
    if precision is Precision.BF16 and target_of(Device.CPU).has_native_bf16:
        dtype = torch.bfloat16
    if precision is Precision.INT4 and source.is_four_bit:
        kept = Precision.AUTO
    decoder = NativeDecoder.build(source, kept, dtype, CPU, print_nothing, bool)
    assert planned == pytest.approx(decoder.weights_bytes, rel=0.01)
    steps = any("one native call" in line for line in decoder.kernels)
    if precision in {Precision.INT4, Precision.INT8} and target_of(Device.CPU).has_core:
        assert blueprint.has_native_step == steps
    return blueprint


def print_nothing(_done: int, _total: int) -> None:
    return


@pytest.mark.parametrize("precision", EVERY)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_of_each_family(tmp_path, family, precision):
    with closing(HfSource.open(write_family(tmp_path, FAMILIES[family]))) as source:
        blueprint = check(source, precision)
    assert blueprint.is_from_weights
    assert {product.layer for product in blueprint.products} == set(range(4))


@pytest.mark.parametrize("precision", EVERY)
@pytest.mark.parametrize("group", [32, 128])
def test_a_folder_of_four_bit_groups(tmp_path, precision, group):
    folder = write_gptq(tmp_path, FAMILIES["llama untied"], group)
    with closing(HfSource.open(folder)) as source:
        assert check(source, precision).is_four_bit


@pytest.mark.parametrize("precision", EVERY)
@pytest.mark.parametrize("four_bit", [False, True])
def test_a_gguf_file(tmp_path, precision, four_bit):
    path = write_llama(tmp_path / "x.gguf", llama_parameters(), four_bit=four_bit)
    with closing(GgufSource.open(path)) as source:
        assert check(source, precision).is_four_bit == four_bit


def test_experts_are_counted_once_with_their_number(tmp_path):
    with closing(HfSource.open(write_family(tmp_path, MIXTURE))) as source:
        blueprint = blueprint_of(source)
    mixed = [p for p in blueprint.products if p.copies > 1]
    assert {(p.copies, p.active) for p in mixed} == {(8, 2)}
    assert len(mixed) == 4 * 2
    assert sum(p.is_exact for p in blueprint.products) == 4


@pytest.mark.parametrize("family", ["llama", "gemma3", "mixture"])
def test_layers_and_ends_make_the_whole(tmp_path, family):
    with closing(HfSource.open(write_family(tmp_path, FAMILIES[family]))) as source:
        blueprint = blueprint_of(source)
    target = target_of(Device.CPU)
    layers = sum(layer_bytes(blueprint, Precision.FP32, target))
    ends = allocated_bytes(blueprint, Precision.FP32, target) - layers
    table = blueprint.table_values * 4
    assert ends == pytest.approx(
        table if blueprint.head is None
        else table + embedding_bytes(blueprint, Precision.FP32, target), abs=8
    )  # fmt: skip
