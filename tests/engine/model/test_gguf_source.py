"""GGUF files as sources: canonical names, row order, shapes and finite values."""

import pytest
import torch

from engine.errors import ModelCorruptError, ModelUnsupportedError
from engine.model.gguf_source import GgufSource
from engine.quant.layout import GroupedInt4Weight
from tests.helpers.gguf_files import (
    STRING,
    gguf_bytes,
    llama_metadata,
    llama_parameters,
    write_llama,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tiny.gguf"


def test_parameters_under_their_canonical_names(path):
    parameters = llama_parameters()
    source = GgufSource.open(write_llama(path, parameters))
    expected = {
        "embed": "token_embd.weight",
        "layers.0.q": "blk.0.attn_q.weight",
        "layers.1.k": "blk.1.attn_k.weight",
        "layers.1.v": "blk.1.attn_v.weight",
        "layers.0.o": "blk.0.attn_output.weight",
        "layers.0.gate": "blk.0.ffn_gate.weight",
        "layers.0.up": "blk.0.ffn_up.weight",
        "layers.1.down": "blk.1.ffn_down.weight",
    }
    for name, stored in expected.items():
        assert torch.equal(source.weight(name).dequantize(), parameters[stored]), name
    assert torch.equal(source.vector("norm"), parameters["output_norm.weight"])
    assert torch.equal(source.vector("layers.1.ffn_norm"), parameters["blk.1.ffn_norm.weight"])
    assert not source.has("head")
    assert not source.has("layers.0.q_bias")
    source.close()


def test_progress_and_sizes(path):
    source = GgufSource.open(write_llama(path, llama_parameters()))
    assert source.bytes_read == 0
    for name, shape in source.shapes.items():
        if len(shape) == 2:
            source.weight(name)
        else:
            source.vector(name)
    total = sum(values.numel() * 4 for values in llama_parameters().values())
    assert source.bytes_read == total
    assert source.file_bytes == path.stat().st_size
    assert not source.is_four_bit


def test_four_bits_stay_four_bits_with_q_and_k_in_order(path):
    parameters = llama_parameters()
    source = GgufSource.open(write_llama(path, parameters, four_bit=True))
    assert source.is_four_bit
    for name, stored in (
        ("layers.0.q", "blk.0.attn_q.weight"),
        ("layers.1.k", "blk.1.attn_k.weight"),
    ):
        weight = source.weight(name)
        assert isinstance(weight, GroupedInt4Weight)
        torch.testing.assert_close(weight.dequantize(), parameters[stored], rtol=0, atol=0.06)


def test_biases_follow_the_rotary_order(path):
    parameters = llama_parameters()
    parameters["blk.0.attn_q.bias"] = torch.randn(64)
    parameters["blk.0.attn_v.bias"] = torch.randn(32)
    source = GgufSource.open(write_llama(path, parameters))
    assert source.config.attention_bias
    assert torch.equal(source.vector("layers.0.q_bias"), parameters["blk.0.attn_q.bias"])
    assert torch.equal(source.vector("layers.0.v_bias"), parameters["blk.0.attn_v.bias"])


def test_rope_factors(path):
    parameters = llama_parameters()
    parameters["rope_freqs.weight"] = torch.tensor([1.0, 1, 2, 4, 8, 8, 8, 8])
    scaling = GgufSource.open(write_llama(path, parameters)).config.rope_scaling
    assert scaling is not None
    assert scaling.kind == "factors"
    assert scaling.freq_factors == (1, 1, 2, 4, 8, 8, 8, 8)


def refusal(path, kind=ModelCorruptError) -> str:
    with pytest.raises(kind) as caught:
        GgufSource.open(path)
    return str(caught.value)


def test_a_missing_tensor_is_named(path):
    parameters = llama_parameters()
    del parameters["blk.1.ffn_up.weight"]
    assert "blk.1.ffn_up.weight is missing" in refusal(write_llama(path, parameters))


def test_a_wrong_shape_is_named(path):
    parameters = llama_parameters()
    parameters["blk.0.ffn_up.weight"] = torch.zeros(96, 32)
    assert "blk.0.ffn_up.weight has shape [96, 32]" in refusal(write_llama(path, parameters))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["blk.0.ffn_up.weight", "blk.0.ffn_norm.weight"])
def test_values_that_are_no_numbers(path, bad, name):
    parameters = llama_parameters()
    parameters[name].view(-1)[5] = bad
    source = GgufSource.open(write_llama(path, parameters))
    canonical = "layers.0." + name.split(".")[2].replace("ffn_up", "up")
    read = source.weight if parameters[name].dim() == 2 else source.vector
    with pytest.raises(ModelCorruptError, match=name):
        read(canonical)


def test_bad_scales_are_found_in_four_bit_files(path):
    parameters = llama_parameters()
    parameters["blk.0.ffn_up.weight"][3, 3] = 1e9  # over what float16 can hold
    with pytest.warns(RuntimeWarning, match="overflow"):
        write_llama(path, parameters, four_bit=True)
    with pytest.raises(ModelCorruptError, match=r"blk\.0\.ffn_up"):
        GgufSource.open(path).weight("layers.0.up")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"llama__block_count": None}, "llama.block_count"),
        ({"llama__block_count": (STRING, "2")}, "llama.block_count"),
        ({"llama__block_count": (4, 0)}, "num_layers"),
        ({"llama__block_count": (4, 2**31)}, "num_layers"),
        ({"llama__embedding_length": (5, -64)}, "hidden_size"),
        ({"llama__attention__head_count": (4, 0)}, "num_heads"),
        ({"llama__attention__head_count_kv": (4, 3)}, "key-value heads"),
        (
            {"llama__attention__key_length": (4, 15), "llama__rope__dimension_count": (4, 15)},
            "odd",
        ),
        ({"llama__attention__layer_norm_rms_epsilon": (6, float("nan"))}, "epsilon"),
        ({"llama__rope__freq_base": (6, 0.0)}, "rope_theta"),
        ({"tokenizer__ggml__eos_token_id": (4, 500)}, "500"),
        ({"general__architecture": None}, "general.architecture"),
    ],
)
def test_impossible_headers_name_the_key(path, changes, named):
    assert named in refusal(write_llama(path, llama_parameters(), llama_metadata(**changes)))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"general__architecture": (STRING, "mamba")}, "mamba"),
        ({"llama__rope__scaling__type": (STRING, "magic")}, "magic"),
        ({"llama__rope__dimension_count": (4, 8)}, "8 of 16"),
    ],
)
def test_unsupported_features_are_named(path, changes, named):
    metadata = llama_metadata(**changes)
    message = refusal(write_llama(path, llama_parameters(), metadata), ModelUnsupportedError)
    assert named in message


def test_unsupported_tensor_types_are_named(path):
    tensors = [
        (name, tuple(reversed(values.shape)), 0, values.numpy().tobytes())
        for name, values in llama_parameters().items()
    ]
    tensors[0] = ("token_embd.weight", (64, 128), 24, bytes(128 * 64))
    path.write_bytes(gguf_bytes(llama_metadata(), tensors))
    assert "I8" in refusal(path, ModelUnsupportedError)


def test_starter_model(starter_model):
    source = GgufSource.open(starter_model)
    config = source.config
    assert (config.num_layers, config.hidden_size, config.vocab_size) == (30, 576, 49_152)
    assert (config.num_heads, config.num_kv_heads, config.head_dim) == (9, 3, 64)
    assert config.tie_word_embeddings
    assert config.eos_ids == (2,)
    assert source.is_four_bit
    assert source.weight("layers.29.down").shape == (576, 1536)
