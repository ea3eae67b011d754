"""Names of parameters and of tensors, and the arithmetic that converters did."""

import pytest
import torch

from engine.model.compat.gguf_families import FAMILIES, Header
from engine.model.fields import Fields


def header(arch: str, heads: int, kv_heads: int, hidden: int) -> Header:
    values = {
        f"{arch}.attention.head_count": heads,
        f"{arch}.attention.head_count_kv": kv_heads,
        f"{arch}.embedding_length": hidden,
    }
    return Header(Fields(values, "here"), arch, frozenset())


@pytest.mark.parametrize(
    ("arch", "parameter", "stored"),
    [
        ("gpt2", "transformer.h.11.attn.c_attn.weight", "blk.11.attn_qkv.weight"),
        ("gpt2", "transformer.wpe.weight", "position_embd.weight"),
        ("phi2", "model.layers.0.mlp.fc1.bias", "blk.0.ffn_up.bias"),
        ("falcon", "transformer.h.3.ln_attn.weight", "blk.3.attn_norm_2.weight"),
        ("gptneox", "gpt_neox.embed_in.weight", "token_embd.weight"),
        ("gemma", "model.layers.0.self_attn.nothing.weight", None),
        ("gemma", "something.else", None),
    ],
)
def test_names(arch: str, parameter: str, stored: str | None) -> None:
    assert FAMILIES[arch].file_name(parameter) == stored


def test_heads_that_were_sorted_by_q_k_and_v() -> None:
    undo = FAMILIES["gptneox"].undone("blk.0.attn_qkv.bias")
    assert undo is not None
    # two heads of one value: q0 q1 k0 k1 v0 v1
    rows = torch.tensor([0.0, 1.0, 10.0, 11.0, 20.0, 21.0])
    assert undo(rows, header("gptneox", 2, 2, 2)).tolist() == [0, 10, 20, 1, 11, 21]


def test_groups_that_were_sorted_by_q_k_and_v() -> None:
    undo = FAMILIES["falcon"].undone("blk.0.attn_qkv.weight")
    assert undo is not None
    # four heads of one value that share two keys
    rows = torch.tensor([[0.0], [1.0], [2.0], [3.0], [10.0], [11.0], [20.0], [21.0]])
    found = undo(rows, header("falcon", 4, 2, 4)).view(-1).tolist()
    assert found == [0, 1, 10, 20, 2, 3, 11, 21]


def test_norms_and_transposes() -> None:
    gemma, gpt2 = FAMILIES["gemma"], FAMILIES["gpt2"]
    less = gemma.undone("blk.5.ffn_norm.weight")
    assert less is not None
    assert less(torch.ones(2), header("gemma", 1, 1, 2)).tolist() == [0, 0]
    assert gemma.undone("blk.5.ffn_up.weight") is None
    turned = gpt2.undone("blk.5.ffn_up.weight")
    assert turned is not None
    assert turned(torch.zeros(2, 3), header("gpt2", 1, 1, 2)).shape == (3, 2)
    assert gpt2.undone("blk.5.ffn_up.bias") is None
    assert gpt2.undone("token_embd.weight") is None
