"""GGUF files of architectures without a native decoder against transformers' own models."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch

from engine.api import Device, ModelOptions, Precision
from engine.model.compat.decoder import CompatDecoder
from engine.model.compat.dispatch import DevicePlan
from engine.model.compat.gguf_source import CompatGgufSource
from engine.model.loader import load_model, open_checkpoint
from tests.helpers.compat_folders import random_model
from tests.helpers.compat_gguf import write_compat_gguf
from tests.helpers.decoding import (
    CPU,
    CachedSequence,
    all_logits,
    ignore_progress,
    make_storage,
    never,
)

pytestmark = pytest.mark.oracle

NUM_TOKENS = 30
BLOCKS = (9, 4, 5, 17)
COMMON = {"vocab_size": 264, "sliding_window": None}
CASES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "gpt2": ("gpt2", {}),
    "starcoder2": ("starcoder2", {}),
    "stablelm": ("stablelm", {"partial_rotary_factor": 0.25, "head_dim": 8}),
    "stablelm, biases, parallel": (
        "stablelm",
        {"use_qkv_bias": True, "use_parallel_residual": False, "rope_theta": 500.0},
    ),
    "falcon, one key head": ("falcon", {"multi_query": True}),
    "falcon, groups": ("falcon", {"new_decoder_architecture": True, "num_kv_heads": 2}),
    "phi2": ("phi", {"num_key_value_heads": 6}),
    "command-r": ("cohere", {"logit_scale": 0.25}),
    "command-r, norms of q and k": ("cohere", {"use_qk_norm": True, "logit_scale": 0.5}),
    "gptneox": ("gpt_neox", {}),
    "gptneox, one after the other": ("gpt_neox", {"use_parallel_residual": False}),
    "bloom": ("bloom", {}),
    "nemotron": ("nemotron", {}),
    "gemma": ("gemma", {"head_dim": 16}),
}


def _model(case: str):
    model_type, changes = CASES[case]
    return random_model(model_type, {**COMMON, **changes})


def _expected(model, ids: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return model(ids.unsqueeze(0), use_cache=False).logits[0]


@pytest.mark.parametrize("case", CASES)
def test_logits_equal_transformers(case: str, tmp_path: Path) -> None:
    model = _model(case)
    ids = torch.randint(3, 264, (NUM_TOKENS,), generator=torch.Generator().manual_seed(1))
    expected = _expected(model, ids)
    with closing(open_checkpoint(write_compat_gguf(tmp_path / "tiny.gguf", model))) as source:
        assert isinstance(source, CompatGgufSource)
        decoder = CompatDecoder.build(
            source, Precision.FP32, torch.float32, DevicePlan(CPU), ignore_progress, never
        )
        assert source.bytes_read > 0
    storage = make_storage(decoder.config, num_blocks=20, block_size=8)
    logits = all_logits(decoder, storage, CachedSequence(BLOCKS), ids.tolist(), (20, 1, 9))
    assert float(expected.std()) > 0.05
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("case", ["starcoder2", "gpt2", "falcon, groups"])
def test_quantised_files_load_through_the_whole_loader(case: str, tmp_path: Path) -> None:
    """64 wide, so that rows are whole blocks; Q8_0 is close to the weights it was made of."""
    model_type, changes = CASES[case]
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4}
    model = random_model(model_type, {**COMMON, **changes, **sizes})
    path = write_compat_gguf(tmp_path / "q.gguf", model, kind=gguf.GGMLQuantizationType.Q8_0)
    options = ModelOptions(str(path), weights=Precision.FP32, device=Device.CPU, threads=1)
    loaded = load_model(options, [].append, never)
    assert "compatibility path" in loaded.info.kernels[0]
    assert loaded.info.architecture == model_type
    ids = loaded.tokenizer.encode("hello world", parse_special=False)
    storage = make_storage(loaded.decoder.config, num_blocks=20, block_size=8)
    logits = all_logits(loaded.decoder, storage, CachedSequence(BLOCKS), ids, (len(ids),))
    expected = _expected(model, torch.tensor(ids))
    assert float((logits - expected).norm() / expected.norm()) < 0.05
