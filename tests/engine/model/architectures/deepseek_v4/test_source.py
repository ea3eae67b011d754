"""Folders of DeepSeek-V4: names, shapes, and matrices in 8 and 4 bits."""

import json
from contextlib import closing

import pytest
import safetensors.torch
import torch

from engine.errors import ModelCorruptError, ModelUnsupportedError
from engine.model.architectures.deepseek_v4.source import V4Source, all_shapes, stored_names
from tests.helpers.hf_folders import write_weights
from tests.helpers.v4_models import v4_config, write_v4_folder

FILE = "model.safetensors"
ROUTED = "layers.2.ffn.experts.1.w1.weight"
QUERIES = "layers.2.attn.wq_b.weight"


@pytest.fixture
def folder(tmp_path):
    return write_v4_folder(tmp_path)


def rewrite(folder, change):
    tensors = safetensors.torch.load_file(folder / FILE)
    change(tensors)
    write_weights(folder, tensors)


def read(folder, name):
    with closing(V4Source.open(folder)) as source:
        return source.weight(name).dequantize()


def test_everything_is_read(folder):
    with closing(V4Source.open(folder)) as source:
        assert set(source.shapes) == {name for name, _ in all_shapes(source.v4)}
        for name, shape in source.shapes.items():
            values = source.table(name) if name.endswith("table") else source.values(name)
            assert values.shape == shape
        assert source.bytes_read <= source.file_bytes
        assert not source.is_four_bit


def test_names_with_model_in_front_and_those_of_transformers(folder):
    expected = read(folder, "layers.0.q_a")

    def change(tensors):
        for name in list(tensors):
            tensors[f"model.{name}"] = tensors.pop(name)
        tensors["lm_head.weight"] = tensors.pop("model.head.weight")
        tensors["model.embed_tokens.weight"] = tensors.pop("model.embed.weight")
        for part in ("fn", "base", "scale"):
            tensors[f"model.hc_head.hc_{part}"] = tensors.pop(f"model.hc_head_{part}")

    rewrite(folder, change)
    assert torch.equal(read(folder, "layers.0.q_a"), expected)


def test_the_drafting_layer_is_left_alone(folder):
    rewrite(folder, lambda t: t.update({"mtp.0.attn.wq_a.weight": torch.zeros(2, 2)}))
    with closing(V4Source.open(folder)) as source:
        assert "mtp" not in " ".join(source.shapes)


@pytest.mark.parametrize("name", ["norm.weight", "layers.2.attn.indexer.wq_b.weight", QUERIES])
def test_a_missing_tensor_is_named(folder, name):
    rewrite(folder, lambda tensors: tensors.pop(name))
    with pytest.raises(ModelCorruptError, match=name):
        V4Source.open(folder)


def test_a_wrong_shape_is_named(folder):
    rewrite(folder, lambda t: t.update({QUERIES: torch.zeros(3, 24)}))
    with pytest.raises(ModelCorruptError, match=r"\[3, 24\]"):
        V4Source.open(folder)


def test_a_router_without_a_bias(folder):
    rewrite(folder, lambda tensors: tensors.pop("layers.3.ffn.gate.bias"))
    with closing(V4Source.open(folder)) as source:
        assert not source.has("layers.3.router_bias")


@pytest.mark.parametrize("scale_name", ["layers.2.attn.wq_b.scale", f"{QUERIES}_scale_inv"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float8_e8m0fnu], ids=str)
def test_matrices_in_eight_bits(folder, scale_name, dtype):
    values = torch.randn(128, 24).to(torch.float8_e4m3fn)
    scales = torch.tensor([[0.5, 2.0], [4.0, 0.25]]).to(dtype)
    rewrite(folder, lambda t: t.update({QUERIES: values, scale_name: scales}))
    grid = scales.float().repeat_interleave(64, 0).repeat_interleave(12, 1)
    assert torch.equal(read(folder, "layers.2.q_b"), values.float() * grid)


def test_experts_in_four_bits(folder):
    levels = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    codes = torch.randint(0, 16, (32, 48))
    packed = (codes[:, 0::2] | codes[:, 1::2] << 4).to(torch.uint8).view(torch.int8)
    scales = torch.full((32, 3), 2.0).to(torch.float8_e8m0fnu)
    name = ROUTED.replace("weight", "scale")
    rewrite(folder, lambda t: t.update({ROUTED: packed, name: scales}))
    signs = torch.where(codes < 8, 1.0, -1.0)
    assert torch.equal(read(folder, "layers.2.experts.1.gate"), levels[codes % 8] * signs * 2)


def test_eight_bits_without_scales(folder):
    rewrite(folder, lambda t: t.update({QUERIES: torch.zeros(128, 24).to(torch.float8_e4m3fn)}))
    with pytest.raises(ModelCorruptError, match="scales"):
        read(folder, "layers.2.q_b")


def test_scales_that_do_not_divide(folder):
    values, scales = torch.zeros(128, 24).to(torch.float8_e4m3fn), torch.ones(5, 1)
    name = QUERIES.replace("weight", "scale")
    rewrite(folder, lambda t: t.update({QUERIES: values, name: scales}))
    with pytest.raises(ModelCorruptError, match="do not fit"):
        read(folder, "layers.2.q_b")


def test_other_quantised_weights_are_refused(tmp_path):
    folder = write_v4_folder(tmp_path, quantization_config={"quant_method": "gptq", "bits": 4})
    with pytest.raises(ModelUnsupportedError, match="gptq"):
        V4Source.open(folder)


def test_published_names_come_first():
    shapes = dict(all_shapes(v4_config()))
    assert stored_names("layers.4.index.queries")[0] == "layers.4.attn.indexer.wq_b.weight"
    assert stored_names("layers.0.shared.down")[0] == "layers.0.ffn.shared_experts.w2.weight"
    assert len({stored_names(name)[0] for name in shapes}) == len(shapes)
    assert json.dumps(sorted(shapes))  # plain strings
