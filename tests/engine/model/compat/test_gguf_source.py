"""GGUF files through the compatibility path: what is found in them, and what is refused."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.errors import EngineError, ModelCorruptError, ModelUnsupportedError
from engine.inspection import inspect_model
from engine.model.compat.gguf_source import CompatGgufSource
from engine.model.loader import open_checkpoint
from engine.quant.layout import DenseWeight
from tests.helpers.gguf_files import STRING, gguf_bytes

U32, F32, BOOL = 4, 6, 7
HIDDEN, INNER, VOCAB = 32, 64, 40


def metadata(**changes: Any) -> dict[str, tuple[int, Any]]:
    values: dict[str, Any] = {
        "general.architecture": (STRING, "phi2"),
        "general.name": (STRING, "Tiny Phi"),
        "general.license": (STRING, "mit"),
        "phi2.block_count": (U32, 1),
        "phi2.context_length": (U32, 64),
        "phi2.embedding_length": (U32, HIDDEN),
        "phi2.feed_forward_length": (U32, INNER),
        "phi2.attention.head_count": (U32, 4),
        "phi2.attention.layer_norm_epsilon": (F32, 1e-5),
        "phi2.rope.dimension_count": (U32, 4),
    }
    named = {key.replace("__", "."): value for key, value in changes.items()}
    return {k: v for k, v in (values | named).items() if v is not None}


def shapes() -> dict[str, tuple[int, ...]]:
    """Outermost first; q, k and v in one tensor, as older files have them."""
    matrices = {
        "token_embd": (VOCAB, HIDDEN),
        "output": (VOCAB, HIDDEN),
        "blk.0.attn_qkv": (3 * HIDDEN, HIDDEN),
        "blk.0.attn_output": (HIDDEN, HIDDEN),
        "blk.0.ffn_up": (INNER, HIDDEN),
        "blk.0.ffn_down": (HIDDEN, INNER),
    }
    found: dict[str, tuple[int, ...]] = {f"{n}.weight": shape for n, shape in matrices.items()}
    for name, shape in matrices.items():
        if name != "token_embd":
            found[f"{name}.bias"] = shape[:1]
    for norm in ("output_norm", "blk.0.attn_norm"):
        found |= {f"{norm}.weight": (HIDDEN,), f"{norm}.bias": (HIDDEN,)}
    return found


def write(
    path: Path, header: Mapping[str, Any], sizes: Mapping[str, tuple[int, ...]], fill: float = 0.0
) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(2)
    tensors = {n: torch.randn(s, generator=draw) * 0.1 + fill for n, s in sizes.items()}
    rows = [(n, list(reversed(v.shape)), 0, v.numpy().tobytes()) for n, v in tensors.items()]
    path.write_bytes(gguf_bytes(header, rows))
    return tensors


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tiny.gguf"


def test_parameters_of_a_file(path: Path) -> None:
    tensors = write(path, metadata(), shapes())
    with closing(open_checkpoint(path)) as source:
        assert isinstance(source, CompatGgufSource)
        config = source.config
        assert (config.name, config.model_type, config.license) == ("Tiny Phi", "phi", "mit")
        assert (config.num_layers, config.num_heads, config.head_dim) == (1, 4, 8)
        assert config.max_position_embeddings == 64
        assert not source.is_four_bit
        parameters = dict(source.parameters())
        assert len(parameters) == source.num_parameters
        assert source.bytes_read == sum(values.nbytes for values in tensors.values())
        k = parameters["model.layers.0.self_attn.k_proj.weight"]
        assert isinstance(k, DenseWeight)
        assert torch.equal(k.values, tensors["blk.0.attn_qkv.weight"][HIDDEN : 2 * HIDDEN])
        v_bias = source.vector("model.layers.0.self_attn.v_proj.bias")
        assert torch.equal(v_bias.view(-1), tensors["blk.0.attn_qkv.bias"][2 * HIDDEN :])


def test_the_sheet_of_a_file(path: Path) -> None:
    write(path, metadata(), shapes())
    sheet = inspect_model(str(path))
    assert (sheet.architecture, sheet.num_layers) == ("phi", 1)


@pytest.mark.parametrize(
    ("changes", "sizes", "kind", "words"),
    [
        ({"general__architecture": (STRING, "rwkv7")}, {}, ModelUnsupportedError, "rwkv7"),
        ({"phi2__block_count": None}, {}, ModelCorruptError, "block_count"),
        ({"phi2__block_count": (U32, 1 << 30)}, {}, ModelCorruptError, "num_hidden_layers"),
        ({"phi2__attention.head_count": (U32, 0)}, {}, EngineError, "tiny.gguf"),
        ({"phi2__rope.scaling.type": (STRING, "yarn")}, {}, ModelUnsupportedError, "yarn"),
        ({}, {"blk.0.ffn_up.weight": (INNER, 8)}, ModelCorruptError, "ffn_up"),
        ({}, {"blk.0.attn_rot.weight": (8, 8)}, ModelUnsupportedError, "attn_rot"),
    ],
)
def test_what_is_refused_is_refused_in_a_sentence(
    path: Path, changes: Any, sizes: Any, kind: type[EngineError], words: str
) -> None:
    write(path, metadata(**changes), shapes() | sizes)
    with pytest.raises(kind, match=words) as caught, closing(open_checkpoint(path)):
        pass
    assert len(str(caught.value)) < 400


def test_values_that_are_not_numbers(path: Path) -> None:
    write(path, metadata(), shapes(), fill=float("nan"))
    with (
        closing(open_checkpoint(path)) as source,
        pytest.raises(ModelCorruptError, match="numbers"),
    ):
        source.weight("lm_head.weight")
