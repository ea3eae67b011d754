"""What a load takes at its peak: the finished weights and one large matrix, never the whole file.

A child process forbids itself more memory than that and loads a model of 17 million parameters.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.helpers.family_folders import BASE, write_family
from tests.helpers.gguf_files import gguf_bytes
from tests.helpers.sources import ROOT
from tests.helpers.tiny_models import tiny_metadata, write_tiny_model

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's"),
]
LAYERS, HIDDEN, INNER = 8, 512, 704
MATRICES = LAYERS * (4 * HIDDEN * HIDDEN + 3 * HIDDEN * INNER)
LARGEST = HIDDEN * 2 * INNER  # gate and up are one product
MEGABYTE = 1 << 20
CHILD = """
import resource, sys
from pathlib import Path
import engine.model.calibrated as calibrated
import engine.quant.quantize as quantize
from engine.api import Device, ModelOptions, Precision
from engine.model.loader import load_model

quantize._BLOCK_VALUES = 1 << 18  # as small beside this model as the real one beside a large model
calibrated.calibration_texts = lambda: ["TheQuickBrownFox" * 32]

def load(path, weights, is_calibrated):
    options = ModelOptions(
        path, weights=Precision(weights), calibrated=is_calibrated, device=Device.CPU,
        threads=1, context_length=64, kv_budget_bytes=1 << 20,
    )
    return load_model(options, [].append, bool)

small, large, weights, more = sys.argv[1:5]
is_calibrated = weights == "int4-calibrated"
weights = weights.partition("-")[0]
load(small, weights, is_calibrated)  # libraries, threads and tables are there from now on
status = Path("/proc/self/status").read_text()
data = next(int(line.split()[1]) << 10 for line in status.splitlines() if line[:7] == "VmData:")
resource.setrlimit(resource.RLIMIT_DATA, (data + int(more), resource.RLIM_INFINITY))
model = load(large, weights, is_calibrated)
print(model.info.weights_bytes, model.info.is_calibrated)
"""
# bytes of a weight when it is packed, and what choosing its quants takes beside the largest matrix
BOUNDS = {
    "bf16": (2.0, 12 * MEGABYTE),
    "int8": (1.0625, 14 * MEGABYTE),
    "int4": (0.625, 20 * MEGABYTE),
    # covariances of 704 inputs, their factors, and a layer as the file keeps it
    "int4-calibrated": (0.625, 40 * MEGABYTE),
}


@pytest.fixture(scope="module")
def gguf_model(tmp_path_factory) -> Path:
    """Float16, the same random numbers over and over."""
    metadata = tiny_metadata(
        llama__block_count=(4, LAYERS),
        llama__embedding_length=(4, HIDDEN),
        llama__feed_forward_length=(4, INNER),
        llama__attention__head_count=(4, 8),
        llama__attention__head_count_kv=(4, 8),
        llama__rope__dimension_count=(4, 64),
    )
    values = np.random.default_rng(0).standard_normal(HIDDEN * INNER) * 0.05
    raw = values.astype(np.float16).tobytes()

    def matrix(name: str, rows: int, columns: int) -> tuple[str, tuple[int, int], int, bytes]:
        return name, (columns, rows), 1, raw[: rows * columns * 2]

    def norm(name: str) -> tuple[str, tuple[int], int, bytes]:
        return name, (HIDDEN,), 0, np.ones(HIDDEN, np.float32).tobytes()

    tensors = [matrix("token_embd.weight", 128, HIDDEN), norm("output_norm.weight")]
    for i in range(LAYERS):
        at = f"blk.{i}."
        tensors += [norm(f"{at}{part}_norm.weight") for part in ("attn", "ffn")]
        parts = ("attn_q", "attn_k", "attn_v", "attn_output")
        tensors += [matrix(f"{at}{part}.weight", HIDDEN, HIDDEN) for part in parts]
        tensors += [matrix(f"{at}ffn_{part}.weight", INNER, HIDDEN) for part in ("gate", "up")]
        tensors.append(matrix(f"{at}ffn_down.weight", HIDDEN, INNER))
    path = tmp_path_factory.mktemp("large") / "large.gguf"
    path.write_bytes(gguf_bytes(metadata, tensors))
    return path


@pytest.fixture(scope="module")
def folder_model(tmp_path_factory) -> Path:
    """Zeros in bfloat16."""
    config = {
        **BASE,
        "model_type": "llama",
        "tie_word_embeddings": True,
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 8,
        "num_key_value_heads": 8,
    }
    folder = tmp_path_factory.mktemp("folder") / "large"
    folder.mkdir()
    write_family(folder, config, torch.bfloat16)
    return folder


def load_within_bound(small: Path, large: Path, weights: str) -> str:
    a_weight, beside = BOUNDS[weights]
    allowed = int(a_weight * (MATRICES + LARGEST)) + beside
    result = subprocess.run(
        [sys.executable, "-c", CHILD, str(small), str(large), weights, str(allowed)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        # what is freed goes back at once, so that the limit is on what is held
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "1",
            "MALLOC_MMAP_THRESHOLD_": "524288",
            "MALLOC_TRIM_THRESHOLD_": "524288",
        },
    )
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


@pytest.mark.parametrize("weights", list(BOUNDS))
def test_a_gguf_file(gguf_model, tmp_path, weights):
    out = load_within_bound(write_tiny_model(tmp_path / "tiny.gguf"), gguf_model, weights)
    num_bytes, is_calibrated = out.split()
    assert int(num_bytes) < BOUNDS[weights][0] * MATRICES + MEGABYTE
    assert is_calibrated == str(weights == "int4-calibrated")


@pytest.mark.parametrize("weights", ["bf16", "int8"])
def test_a_folder(folder_model, tmp_path, weights):
    load_within_bound(write_tiny_model(tmp_path / "tiny.gguf"), folder_model, weights)


def test_the_limit_is_felt(gguf_model, tmp_path, monkeypatch):
    monkeypatch.setitem(BOUNDS, "int8", (0.5, 0))
    with pytest.raises(AssertionError, match="memory"):
        load_within_bound(write_tiny_model(tmp_path / "tiny.gguf"), gguf_model, "int8")
