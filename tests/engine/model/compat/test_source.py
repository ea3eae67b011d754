"""Folders for the compatibility path: what is read, and what is refused in one sentence."""

import json
from contextlib import closing
from pathlib import Path

import pytest
import safetensors.torch
import torch

from engine.api import Device, ModelOptions
from engine.errors import ModelCorruptError, ModelUnsupportedError
from engine.model.compat.source import CompatSource
from engine.model.loader import load_model, open_checkpoint
from tests.engine.model.test_prequantized import SCHEMES
from tests.helpers.compat_folders import change_config, random_model, write_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_model(tmp_path, "gpt_neox")
    return tmp_path


def change_weights(folder: Path, change) -> None:
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    change(tensors)
    safetensors.torch.save_file(tensors, path)


def test_a_folder_without_a_native_decoder_opens_here(folder):
    with closing(open_checkpoint(folder)) as source:
        assert isinstance(source, CompatSource)
        config = source.config
        assert (config.num_layers, config.num_kv_heads, config.head_dim) == (3, 6, 8)
        assert (config.model_type, config.vocab_size) == ("gpt_neox", 264)
        assert config.max_position_embeddings == 256
        assert source.shapes["gpt_neox.layers.0.attention.query_key_value.weight"] == (144, 48)


def test_every_parameter_is_read_once(tmp_path):
    model = write_model(tmp_path, "gpt_neox")
    with closing(CompatSource.open(tmp_path)) as source:
        read = dict(source.parameters())
        assert read.keys() == model.state_dict().keys()
        assert source.bytes_read == sum(tensor.nbytes for tensor in read.values())
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(read[name], tensor)


def test_experts_are_stacked_in_order(tmp_path):
    changes = {"num_experts": 12, "num_experts_per_tok": 2}
    model = write_model(tmp_path, "olmoe", **changes)
    stored = safetensors.torch.load_file(tmp_path / "model.safetensors")
    assert "model.layers.0.mlp.experts.11.up_proj.weight" in stored
    with closing(CompatSource.open(tmp_path)) as source:
        name = "model.layers.1.mlp.experts.gate_up_proj"
        torch.testing.assert_close(source.vector(name), model.state_dict()[name])


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"model_type": "mamba"}, "a recurrent state"),
        ({"model_type": "bert"}, "attention in both directions"),
        ({"model_type": "t5"}, "an encoder beside its decoder"),
        ({"model_type": "llava"}, "other inputs than text"),
        ({"model_type": "vit"}, "the architecture 'vit'"),
        ({"model_type": "telepathy"}, "the architecture 'telepathy'"),
        (
            {"model_type": "telepathy", "auto_map": {"AutoConfig": "code.Config"}},
            "the architecture 'telepathy'",
        ),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(tmp_path, config, sentence):
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(ModelUnsupportedError, match=sentence):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"num_hidden_layers": 10**9},
        {"vocab_size": -1},
        {"hidden_size": "many"},
        {"num_attention_heads": 0},
    ],
    ids=str,
)
def test_absurd_sizes_are_refused(folder, changes):
    change_config(folder, **changes)
    with pytest.raises((ModelCorruptError, ModelUnsupportedError)) as caught:
        open_checkpoint(folder)
    assert len(str(caught.value)) < 400


def test_code_of_a_folder_is_not_run(folder):
    (folder / "code.py").write_text("raise SystemExit('ran')", "utf-8")
    change_config(folder, auto_map={"AutoModelForCausalLM": "code.Model", "AutoConfig": "code.C"})
    with closing(open_checkpoint(folder)) as source:
        assert source.config.model_type == "gpt_neox"


def test_a_wrong_shape_is_one_sentence(folder):
    def cut(tensors):
        name = "gpt_neox.layers.1.mlp.dense_h_to_4h.weight"
        tensors[name] = tensors[name][:-1].clone()

    change_weights(folder, cut)
    with pytest.raises(ModelCorruptError, match=r"shape \[63, 48\], not \[64, 48\]"):
        open_checkpoint(folder)


def test_values_that_are_not_numbers_are_refused(folder):
    def spoil(tensors):
        tensors["gpt_neox.final_layer_norm.weight"][3] = float("nan")

    change_weights(folder, spoil)
    with closing(CompatSource.open(folder)) as source, pytest.raises(ModelCorruptError):
        list(source.parameters())


def test_native_models_can_take_this_path(tmp_path):
    model = random_model("llama", {})
    model.save_pretrained(tmp_path)
    with closing(CompatSource.open(tmp_path)) as source:
        assert source.config.num_kv_heads == 2


@pytest.mark.parametrize("scheme", ["gptq4", "gptq_act", "packed8", "nf4", "int8"])
def test_matrices_quantised_before_they_were_published(tmp_path, scheme):
    """What no native decoder runs is unpacked by the same reader."""
    section, quantise, _kind = SCHEMES[scheme]
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4}
    write_model(tmp_path, "gpt_neox", **sizes)
    exact = {}

    def pack(tensors):
        for name in [n for n in tensors if n.endswith(".weight") and ".layers." in n]:
            if tensors[name].dim() == 2:
                parts, exact[name] = quantise(tensors.pop(name))
                module = name.removesuffix(".weight")
                tensors |= {f"{module}.{p}": v.contiguous() for p, v in parts.items()}

    change_weights(tmp_path, pack)
    change_config(tmp_path, quantization_config=section)
    assert len(exact) == 12
    with closing(open_checkpoint(tmp_path)) as source:
        assert isinstance(source, CompatSource)
        for name, values in exact.items():
            read = source.weight(name).dequantize()
            torch.testing.assert_close(read, values.float(), rtol=1e-4, atol=1e-4)
    loaded = load_model(ModelOptions(str(tmp_path), device=Device.CPU, threads=1), [].append, bool)
    assert "compatibility path" in loaded.info.kernels[0]


def test_a_method_that_is_not_unpacked_is_one_sentence(folder):
    change_config(folder, quantization_config={"quant_method": "quip", "bits": 2})
    with pytest.raises(ModelUnsupportedError, match="quantised by 'quip'") as caught:
        open_checkpoint(folder)
    assert str(caught.value).endswith("which this version cannot run.")
