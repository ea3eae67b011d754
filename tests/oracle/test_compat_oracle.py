"""Architectures without a native decoder: our cache, reader and batches against transformers' own.

The same random weights in float32 go through save_pretrained and our folder reader; prompts are
longer than every window.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from engine.api import Precision
from engine.config import KVFormat
from engine.kv.split import SplitStorage
from engine.model.compat.decoder import CompatDecoder
from engine.model.compat.dispatch import DevicePlan
from engine.model.compat.source import CompatSource
from engine.model.hf_source import HfSource
from tests.helpers.compat_folders import random_model
from tests.helpers.decoding import (
    CPU,
    CachedSequence,
    all_logits,
    build_native,
    forward,
    ignore_progress,
    make_storage,
    never,
)
from tests.helpers.windowed import Served, window_geometry

pytestmark = pytest.mark.oracle

NUM_TOKENS = 45
WHOLE = DevicePlan(CPU)
WINDOW = 11
SCHEDULES = {
    "whole prefill": (NUM_TOKENS,),
    "odd chunks": (7, 1, 19, 18),
    "prefill then decode": (40, *(1,) * 5),
}
# scattered and out of order: the cache is gathered
BLOCKS = (9, 4, 5, 17, 0, 2)
CASES: Mapping[str, Mapping[str, Any]] = {
    "gpt_neox": {},
    "gpt2": {},
    "opt": {"ffn_dim": 64, "word_embed_proj_dim": 48},
    "stablelm": {},
    "cohere2": {"sliding_window": WINDOW, "layer_types": None, "head_dim": 8},
    "starcoder2": {"sliding_window": WINDOW},
    "glm4": {"head_dim": 8},
    "nemotron": {},
    "ernie4_5": {"head_dim": 8},
    "bloom": {},
    "falcon": {},
    "olmoe": {"num_experts": 8, "num_experts_per_tok": 2},
    "gpt_oss": {"head_dim": 8, "num_local_experts": 4, "sliding_window": WINDOW},
    "deepseek_v3": {
        "num_key_value_heads": 6,
        "n_routed_experts": 8,
        "n_group": 2,
        "topk_group": 1,
        "num_experts_per_tok": 2,
        "first_k_dense_replace": 1,
        "moe_intermediate_size": 24,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 4,
        "v_head_dim": 6,
        "q_lora_rank": 16,
        "kv_lora_rank": 16,
    },
}


def build(
    folder: Path, precision: Precision = Precision.FP32, plan: DevicePlan = WHOLE
) -> CompatDecoder:
    with closing(CompatSource.open(folder)) as source:
        return CompatDecoder.build(source, precision, torch.float32, plan, ignore_progress, never)


@dataclass(frozen=True)
class Pair:
    """Our decoder, a prompt, and the logits transformers gives for it in one forward pass."""

    folder: Path
    decoder: CompatDecoder
    ids: list[int]
    expected: torch.Tensor


@pytest.fixture(scope="module", params=CASES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    folder = tmp_path_factory.mktemp("model")
    ids = torch.randint(3, 97, (NUM_TOKENS,), generator=torch.Generator().manual_seed(1))
    model = random_model(request.param, CASES[request.param])
    model.save_pretrained(folder)
    with torch.inference_mode():
        expected = model(ids.unsqueeze(0), use_cache=False).logits[0]
    return Pair(folder, build(folder), ids.tolist(), expected)


@pytest.mark.parametrize("lengths", SCHEDULES.values(), ids=SCHEDULES)
def test_logits_equal_transformers(pair: Pair, lengths: tuple[int, ...]) -> None:
    storage = make_storage(pair.decoder.config, num_blocks=20, block_size=8)
    logits = all_logits(pair.decoder, storage, CachedSequence(BLOCKS), pair.ids, lengths)
    assert float(pair.expected.std()) > 0.05
    torch.testing.assert_close(logits, pair.expected, atol=1e-4, rtol=1e-4)


def test_a_batch_computes_what_single_requests_do(pair: Pair) -> None:
    storage = make_storage(pair.decoder.config, num_blocks=20, block_size=8)
    far, fresh = (CachedSequence(tuple(range(i, 20, 2))) for i in range(2))
    forward(pair.decoder, storage, far.chunk(pair.ids[:30], 0))
    logits = forward(
        pair.decoder, storage, far.chunk(pair.ids[30:45], 15), fresh.chunk(pair.ids[:5], 5)
    )
    expected = torch.cat((pair.expected[30:45], pair.expected[:5]))
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("lengths", [(14, 3, 1), (1,)], ids=str)
def test_windows_give_back_what_they_left_behind(pair: Pair, lengths: tuple[int, ...]) -> None:
    config = pair.decoder.config
    geometry = window_geometry(config, num_blocks=12, window_blocks=9, block_size=4, chunk=14)
    served = Served(pair.decoder, geometry)
    served.open("a", pair.ids)
    logits = served.finish("a", pair.ids, lengths)
    torch.testing.assert_close(logits, pair.expected, atol=1e-4, rtol=1e-4)
    is_marked = config.model_type in {"cohere2", "gpt_oss"}
    assert is_marked == any(group.window for group in geometry.groups)
    for use in served.kv.uses:
        assert use.num_live <= 5 if use.window else use.num_live == 12


def test_windows_on_two_devices(pair: Pair) -> None:
    decoder = build(pair.folder, plan=DevicePlan(torch.device("cpu", 0), cpu_layers=2))
    config = decoder.config
    geometry = window_geometry(config, num_blocks=12, window_blocks=9, block_size=4, chunk=14)
    served = Served(decoder, geometry)
    served.storage = SplitStorage(geometry, ((CPU, 2), (CPU, config.num_layers - 2)))
    served.open("a", pair.ids)
    logits = served.finish("a", pair.ids, (14, 1))
    torch.testing.assert_close(logits, pair.expected, atol=1e-4, rtol=1e-4)


def test_layers_on_two_devices_compute_the_same(pair: Pair) -> None:
    """The second device is a CPU whose cache is counted apart; accelerate moves what goes there."""
    decoder = build(pair.folder, plan=DevicePlan(torch.device("cpu", 0), cpu_layers=2))
    whole = make_storage(pair.decoder.config, num_blocks=20, block_size=8)
    split = SplitStorage(whole.geometry, ((CPU, 2), (CPU, 1)))
    logits = all_logits(decoder, split, CachedSequence(BLOCKS), pair.ids, (30, 1, 14))
    torch.testing.assert_close(logits, pair.expected, atol=1e-4, rtol=1e-4)
    assert split.pools[1].nbytes * 3 == whole.nbytes


@pytest.mark.parametrize(("kept", "most"), [(KVFormat.INT8, 0.05), (KVFormat.INT4, 0.4)])
def test_quantised_caches_stay_close(pair: Pair, kept: KVFormat, most: float) -> None:
    config = pair.decoder.config
    if not kept.can_keep(config.head_dim):
        pytest.skip(f"heads of {config.head_dim} values are refused when the model is loaded")
    storage = make_storage(config, num_blocks=20, block_size=8, kept=kept)
    logits = all_logits(pair.decoder, storage, CachedSequence(BLOCKS), pair.ids, (30, 1, 14))
    errors = (logits - pair.expected).norm(dim=-1) / pair.expected.norm(dim=-1)
    assert float(errors.median()) < most


def test_quantised_products_stay_close(pair: Pair) -> None:
    decoder = build(pair.folder, Precision.INT8)
    storage = make_storage(decoder.config, num_blocks=20, block_size=8)
    logits = all_logits(decoder, storage, CachedSequence(BLOCKS), pair.ids, (NUM_TOKENS,))
    error = (logits - pair.expected).norm() / pair.expected.norm()
    assert float(error) < 0.15  # a mixture may choose another expert
    assert decoder.weights_bytes < pair.decoder.weights_bytes / 2


def test_llama_is_the_same_on_both_paths(tmp_path: Path) -> None:
    random_model("llama", {"head_dim": 16}).save_pretrained(tmp_path)
    compat = build(tmp_path)
    with closing(HfSource.open(tmp_path)) as source:
        native = build_native(source)
    ids = list(range(3, 3 + NUM_TOKENS))
    logits = [
        all_logits(
            decoder, make_storage(native.config, 20, 8), CachedSequence(BLOCKS), ids, (30, 15)
        )
        for decoder in (compat, native)
    ]
    assert float(logits[0].std()) > 0.05
    torch.testing.assert_close(logits[0], logits[1], atol=1e-4, rtol=1e-4)
