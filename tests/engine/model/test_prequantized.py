"""Folders quantised before they were published, from config.json to canonical weights."""

import json
import math

import pytest
import safetensors.torch
import torch

from engine.errors import ModelCorruptError, ModelUnsupportedError
from engine.model.hf_source import HfSource
from engine.model.prequantized import read_scheme
from engine.quant.layout import ChannelInt8Weight, DenseWeight, GroupedInt4Weight
from tests.engine.model.test_hf_source import CONFIG, write_config
from tests.helpers.state_dict_source import random_state_dict

functional = pytest.importorskip("bitsandbytes.functional")
GROUP = 32


def pack(values: torch.Tensor, bits: int, order=None) -> torch.Tensor:
    """[R, C] -> int32 [R, C * bits / 32], lowest bits first."""
    places = values.long().view(values.shape[0], -1, 32 // bits)
    if order is not None:
        places = places[..., order]
    words = (places << (torch.arange(32 // bits) * bits)).sum(-1)
    return torch.where(words >= 1 << 31, words - (1 << 32), words).int()


def affine(values: torch.Tensor, bits: int):
    """(quants [N, K], zeros [N, G], scales [N, G], the values they stand for)."""
    groups = values.view(values.shape[0], -1, GROUP)
    low, high = groups.aminmax(dim=-1, keepdim=True)
    top = (1 << bits) - 1
    scales = ((high.clamp(min=0) - low.clamp(max=0)) / top).half().float()
    zeros = (-low.clamp(max=0) / scales).round().clamp(1, top)
    quants = (groups / scales + zeros).round().clamp(0, top)
    exact = ((quants - zeros) * scales).view_as(values)
    return quants.view_as(values), zeros[..., 0], scales[..., 0], exact


def gptq(values, bits, order=None):
    if order is not None:
        values = values[:, order]
    quants, zeros, scales, exact = affine(values, bits)
    g_idx = torch.arange(values.shape[1]) // GROUP
    if order is not None:
        back = order.argsort()
        quants, exact, g_idx = quants[:, back], exact[:, back], g_idx[back]
    tensors = {
        "qweight": pack(quants, bits).t(),
        "qzeros": pack(zeros.t() - 1, bits),
        "scales": scales.t().half(),
        "g_idx": g_idx.int(),
    }
    return tensors, exact


def awq(values):
    quants, zeros, scales, exact = affine(values, 4)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    tensors = {
        "qweight": pack(quants.t(), 4, order),
        "qzeros": pack(zeros.t(), 4, order),
        "scales": scales.t().half(),
    }
    return tensors, exact


def compressed(values, bits):
    quants, zeros, scales, exact = affine(values, bits)
    tensors = {
        "weight_packed": pack(quants, bits),
        "weight_zero_point": pack(zeros.t(), bits).t(),
        "weight_scale": scales.half(),
        "weight_shape": torch.tensor(values.shape),
    }
    return tensors, exact


def bnb4(values, *, is_nested=False):
    packed, state = functional.quantize_4bit(
        values, blocksize=64, compress_statistics=is_nested, quant_type="nf4"
    )
    kept = state.as_dict(packed=True)
    # the reference mixes up blocks that cross rows on the CPU: give it one block a row
    state.shape = torch.Size((values.numel() // 64, 64))
    exact = functional.dequantize_4bit(packed, state).view(values.shape)
    return {"weight": packed, **{f"weight.{k}": v for k, v in kept.items()}}, exact


def bnb8(values):
    quants, maxima, _ = functional.int8_vectorwise_quant(values.half())
    return {"weight": quants, "SCB": maxima}, quants * maxima.unsqueeze(1) / 127


def compressed_config(bits: int) -> dict:
    weights = {"num_bits": bits, "type": "int", "symmetric": False, "group_size": GROUP}
    group = {"weights": weights, "targets": ["Linear"]}
    layout = {"format": "pack-quantized", "config_groups": {"group_0": group}}
    return {"quant_method": "compressed-tensors", "ignore": ["lm_head"], **layout}


def mixed(values):
    order = torch.arange(values.shape[1]).view(2, -1).t().flatten()
    return gptq(values, 4, order)


SCHEMES = {
    "gptq4": ({"quant_method": "gptq", "bits": 4}, lambda v: gptq(v, 4), GroupedInt4Weight),
    "gptq8": ({"quant_method": "gptq", "bits": 8}, lambda v: gptq(v, 8), None),
    "gptq_act": ({"quant_method": "gptq", "bits": 4, "desc_act": True}, mixed, DenseWeight),
    "awq": ({"quant_method": "awq", "bits": 4, "version": "gemm"}, awq, GroupedInt4Weight),
    "packed4": (compressed_config(4), lambda v: compressed(v, 4), GroupedInt4Weight),
    "packed8": (compressed_config(8), lambda v: compressed(v, 8), None),
    "nf4": ({"quant_method": "bitsandbytes", "load_in_4bit": True}, bnb4, DenseWeight),
    "nf4_nested": (
        {"quant_method": "bitsandbytes", "load_in_4bit": True},
        lambda v: bnb4(v, is_nested=True),
        DenseWeight,
    ),
    "int8": ({"quant_method": "bitsandbytes", "load_in_8bit": True}, bnb8, ChannelInt8Weight),
}


def plain_weights() -> dict[str, torch.Tensor]:
    folder_config = dict(CONFIG)
    config = type("Shape", (), {})()
    config.vocab_size, config.hidden_size = folder_config["vocab_size"], 64
    config.intermediate_size, config.num_layers = 96, 2
    config.num_heads, config.num_kv_heads, config.head_dim = 4, 2, 16
    config.tie_word_embeddings = config.attention_bias = config.mlp_bias = False
    return random_state_dict(config)


def write_folder(folder, scheme: str):
    """A tiny Llama with its layers' matrices quantised; the values they stand for, by name."""
    section, quantise, _ = SCHEMES[scheme]
    write_config(folder, quantization_config=section)
    tensors, exact = {}, {}
    for name, values in plain_weights().items():
        if "_proj" not in name:
            tensors[name] = values
            continue
        parts, stands_for = quantise(values)
        module = name.removesuffix(".weight")
        tensors |= {f"{module}.{part}": value.contiguous() for part, value in parts.items()}
        exact[name] = stands_for
    safetensors.torch.save_file(tensors, folder / "model.safetensors")
    return tensors, exact


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_method(tmp_path, scheme):
    _, exact = write_folder(tmp_path, scheme)
    source = HfSource.open(tmp_path)
    for part, stored in (
        ("q", "self_attn.q_proj"),
        ("up", "mlp.up_proj"),
        ("down", "mlp.down_proj"),
    ):
        weight = source.weight(f"layers.1.{part}")
        expected = exact[f"model.layers.1.{stored}.weight"]
        torch.testing.assert_close(weight.dequantize(), expected.float(), rtol=1e-4, atol=1e-4)
        kind = SCHEMES[scheme][2]
        assert kind is None or isinstance(weight, kind)
    is_grouped = SCHEMES[scheme][2] is GroupedInt4Weight
    assert source.is_four_bit == is_grouped
    for name, shape in source.shapes.items():
        if len(shape) == 2 and name not in {"layers.1.q", "layers.1.up", "layers.1.down"}:
            source.weight(name)
    assert source.bytes_read <= source.file_bytes
    parameters = sum(math.prod(shape) for shape in source.shapes.values())
    assert parameters == sum(v.numel() for v in plain_weights().values())
    source.close()


def test_the_older_configuration_file(tmp_path):
    write_folder(tmp_path, "gptq4")
    write_config(tmp_path)
    (tmp_path / "quantize_config.json").write_text(json.dumps({"bits": 4, "group_size": GROUP}))
    assert HfSource.open(tmp_path).is_four_bit


def test_plain_folders_have_no_scheme(tmp_path):
    assert read_scheme(write_config(tmp_path)) is None


@pytest.mark.parametrize(
    ("section", "named"),
    [
        ({"quant_method": "magic"}, "magic"),
        ({"quant_method": "gptq", "bits": 3}, "3 bits"),
        ({"quant_method": "gptq", "bits": 2}, "2 bits"),
        ({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"}, "marlin"),
        ({**compressed_config(8), "format": "int-quantized"}, "int-quantized"),
        ({**compressed_config(4), "format": "nvfp4-pack-quantized"}, "nvfp4"),
        ({"quant_method": "awq", "bits": 4, "version": "gemv"}, "gemv"),
        ({**compressed_config(4), "format": "float-quantized"}, "float-quantized"),
        (compressed_config(2), "2 bits"),
        ({"quant_method": "compressed-tensors"}, "several ways"),
    ],
)
def test_unsupported(tmp_path, section, named):
    with pytest.raises(ModelUnsupportedError, match=named) as caught:
        read_scheme(write_config(tmp_path, quantization_config=section))
    assert str(caught.value).endswith("which this version cannot run.")


@pytest.mark.parametrize(
    ("scheme", "part", "value"),
    [
        ("gptq4", "qzeros", None),
        ("gptq4", "scales", torch.ones(2, 8).half()),
        ("gptq4", "g_idx", torch.full((64,), 9, dtype=torch.int32)),
        ("gptq4", "scales", torch.full((2, 64), float("nan")).half()),
        ("awq", "qzeros", torch.zeros(2, 7, dtype=torch.int32)),
        ("packed4", "weight_scale", None),
        ("nf4", "weight.absmax", torch.ones(3)),
        ("nf4", "weight.quant_state.bitsandbytes__nf4", torch.zeros(9, dtype=torch.uint8)),
        ("int8", "SCB", torch.ones(3)),
    ],
)
def test_broken_parts_are_one_sentence(tmp_path, scheme, part, value):
    tensors, _ = write_folder(tmp_path, scheme)
    name = f"model.layers.0.self_attn.q_proj.{part}"
    del tensors[name]
    if value is not None:
        tensors[name] = value
    safetensors.torch.save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(ModelCorruptError, match="q_proj") as caught:
        HfSource.open(tmp_path).weight("layers.0.q")
    assert str(caught.value).endswith("Download it again.")


def test_a_wrong_shape(tmp_path):
    tensors, _ = write_folder(tmp_path, "packed4")
    tensors["model.layers.0.self_attn.q_proj.weight_shape"] = torch.tensor([64, 63])
    safetensors.torch.save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(ModelCorruptError, match="q_proj"):
        HfSource.open(tmp_path)
