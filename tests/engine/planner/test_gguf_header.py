"""A GGUF file's header against the loader's own view of the same file."""

import math
from contextlib import closing

import pytest

from engine.api import KVPrecision, Precision
from engine.errors import EngineError, ModelCorruptError
from engine.model.footprint.cache import cache_bytes
from engine.model.footprint.checkpoint import blueprint_of
from engine.model.footprint.weights import Target, allocated_bytes, resolve_precision
from engine.model.gguf_source import GgufSource
from engine.planner.find import find_blueprint
from engine.planner.gguf_header import read_gguf
from tests.helpers.gguf_files import gguf_bytes, llama_metadata, llama_parameters, write_llama

F32 = 0


def write(path, tensors, **changes):
    data = [(name, dims, F32, b"\0" * (4 * math.prod(dims))) for name, dims in tensors.items()]
    path.write_bytes(gguf_bytes(llama_metadata(**changes), data))
    return path


SHAPES = {
    "token_embd.weight": [64, 128],
    "blk.0.attn_q.weight": [64, 64],
    "blk.0.attn_k.weight": [64, 32],
    "blk.0.attn_v.weight": [64, 32],
    "blk.0.ffn_down.weight": [96, 64],
}


def test_a_tiny_file(tmp_path):
    path = write_llama(tmp_path / "tiny.gguf", llama_parameters(), llama_metadata())
    blueprint = find_blueprint(path)
    source = GgufSource.open(path)
    shapes, is_four_bit = source.shapes, source.is_four_bit
    source.close()
    assert blueprint.is_from_weights
    assert blueprint.num_parameters == sum(math.prod(shape) for shape in shapes.values())
    assert blueprint.is_four_bit == is_four_bit
    assert (blueprint.num_layers, blueprint.context_length) == (2, 256)
    assert cache_bytes(blueprint.tracks, 1, KVPrecision.FP32) == 2 * 2 * 2 * 16 * 4


def test_parts_of_one_product_are_fused(tmp_path):
    products = read_gguf(write(tmp_path / "x.gguf", SHAPES)).products
    assert [(p.rows, p.columns) for p in products] == [(128, 64), (64, 96)]


def test_experts(tmp_path):
    shapes = {**SHAPES, "blk.0.ffn_up_exps.weight": [64, 96, 8]}
    changes = {"llama__expert_used_count": (4, 2)}
    product = read_gguf(write(tmp_path / "x.gguf", shapes, **changes)).products[-1]
    assert (product.rows, product.copies, product.active) == (96, 8, 2)


def test_a_latent(tmp_path):
    changes = {"llama__attention__kv_lora_rank": (4, 24)}
    (track,) = read_gguf(write(tmp_path / "x.gguf", SHAPES, **changes)).tracks
    assert (track.layers, track.width) == (2, 24 + 16)


def test_a_window(tmp_path):
    changes = {"llama__attention__sliding_window": (4, 32)}
    (track,) = read_gguf(write(tmp_path / "x.gguf", SHAPES, **changes)).tracks
    assert track.capacity == 32


@pytest.mark.parametrize(
    "changes",
    [
        {"llama__block_count": (4, 1_000_000)},
        {"llama__block_count": None},
        {"llama__context_length": (10, 1 << 63)},
        {"llama__attention__head_count": (4, 0)},
        {"general__architecture": (4, 7)},
    ],
)
def test_a_value_no_model_has(tmp_path, changes):
    with pytest.raises(ModelCorruptError):
        find_blueprint(write(tmp_path / "x.gguf", SHAPES, **changes))


@pytest.mark.parametrize(
    "shapes",
    [
        {},
        {"token_embd.weight": [64, 128]},
        {"token_embd.weight": [64], **{k: v for k, v in SHAPES.items() if "blk" in k}},
        {**SHAPES, "blk.0.attn_v.weight": [32, 32]},
    ],
)
def test_tensors_that_make_no_model(tmp_path, shapes):
    with pytest.raises(EngineError):
        find_blueprint(write(tmp_path / "x.gguf", shapes))


def check_against_the_loader(path):
    """The header reader and the loader's own view come to the same bytes."""
    with closing(GgufSource.open(path)) as source:
        opened = blueprint_of(source)
    header = read_gguf(path)
    for precision in (Precision.INT4, Precision.INT8, Precision.BF16, Precision.FP32):
        for target in (Target(), Target(has_core=True), Target(is_cuda=True)):
            found = [allocated_bytes(b, precision, target) for b in (header, opened)]
            assert found[0] == pytest.approx(found[1], rel=0.01)
    assert header.tracks == opened.tracks
    assert header.active_parameters == pytest.approx(opened.active_parameters, rel=0.01)


@pytest.mark.parametrize("four_bit", [False, True])
def test_the_header_and_the_loader_agree(tmp_path, four_bit):
    check_against_the_loader(
        write_llama(tmp_path / "x.gguf", llama_parameters(), four_bit=four_bit)
    )


def test_an_architecture_nobody_knows_is_said(tmp_path):
    changes = {"general__architecture": (8, "brand_new")}
    renamed = {
        f"brand_new__{key}": (4, value)
        for key, value in {
            "block_count": 2, "context_length": 256, "embedding_length": 64,
            "attention__head_count": 4,
        }.items()
    }  # fmt: skip
    blueprint = find_blueprint(write(tmp_path / "x.gguf", SHAPES, **changes, **renamed))
    assert blueprint.notes == ("~ estimate: unknown architecture 'brand_new'",)
    assert [(p.rows, p.columns) for p in blueprint.products] == [(128, 64), (64, 96)]


@pytest.mark.flow
def test_the_starter_model(starter_model):
    blueprint = find_blueprint(starter_model)
    assert blueprint.num_parameters == 134_515_008
    assert resolve_precision(blueprint, Precision.AUTO) is Precision.INT4
    assert blueprint.table_form == "8-bit groups"
    check_against_the_loader(starter_model)
