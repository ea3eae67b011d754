"""DeepSeek-V4 against transformers: the same random weights, the same logits, in float32.

A tiny model goes through save_pretrained and our own folder reader. Groups are short (4 and 16
tokens) where many of them are to be filled, and as published (4 and 128) once.
"""

import os
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import DeepseekV4Config, DeepseekV4ForCausalLM

from engine.api import Precision
from engine.model.architectures.deepseek_v4.decoder import V4Decoder
from engine.model.architectures.deepseek_v4.source import V4Source
from tests.helpers.decoding import (
    CPU,
    CachedSequence,
    all_logits,
    forward,
    ignore_progress,
    never,
)
from tests.helpers.hf_folders import write_json
from tests.helpers.v4_models import PUBLISHED, SHORT, compressed_storage

pytestmark = pytest.mark.oracle

NUM_TOKENS = 90
TOLERANCE = 1e-4
SCHEDULES = {
    "whole prefill": (NUM_TOKENS,),
    "odd chunks": (1, 3, 7, 2, 1, 33, 16, 27),
    "prefill then decode": (60, *(1,) * 30),
}
# scattered and out of order: entries are gathered
BLOCKS = (9, 4, 5, 7, 0, 2)
IN_ORDER = (0, 1, 2, 3, 4, 5)
KINDS = {
    "all kinds": {},
    "no hashed layers, many mixing steps": {"num_hash_layers": 0, "hc_sinkhorn_iters": 20},
    "sigmoid scores, no scaling": {"scoring_func": "sigmoid", "rope_scaling": None},
    "CSA alone, groups of one head": {"compress_ratios": [4] * 5, "o_groups": 4},
    "HCA alone, tight clamp": {"compress_ratios": [128] * 5, "swiglu_limit": 0.5},
    "window alone, two streams": {"compress_ratios": [0] * 5, "hc_mult": 2},
    "top of more entries than there are": {"index_topk": 64},
}


def reference(seed: int = 0, **changes: Any) -> DeepseekV4ForCausalLM:
    """A model whose every parameter takes part: none is zero, one or negligible."""
    torch.manual_seed(seed)
    # transformers writes into the tables it is given
    settings = deepcopy({**PUBLISHED, **changes})
    model = DeepseekV4ForCausalLM(DeepseekV4Config(**settings)).eval()
    experts = PUBLISHED["n_routed_experts"]
    with torch.no_grad():
        for name, value in model.named_parameters():
            is_small = value.dim() == 1 or "position_bias" in name
            value.add_(torch.randn_like(value) * 0.3) if is_small else value.mul_(6)
        for name, table in model.named_buffers():
            if name.endswith("tid2eid"):
                picks = torch.rand(table.shape[0], experts).argsort(1)
                table.copy_(picks[:, : table.shape[1]])
            elif name.endswith("e_score_correction_bias"):
                table.copy_(torch.randn_like(table) * 0.1)
    return model


def save(model: DeepseekV4ForCausalLM, folder: Path) -> None:
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    model.save_pretrained(folder)


def load(folder: Path, precision: Precision = Precision.FP32) -> V4Decoder:
    with closing(V4Source.open(folder)) as source:
        return V4Decoder.build(source, precision, torch.float32, CPU, ignore_progress, never)


def tokens(count: int = NUM_TOKENS, seed: int = 1) -> list[int]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, PUBLISHED["vocab_size"], (count,), generator=generator).tolist()


def expected(model: DeepseekV4ForCausalLM, ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        return model(torch.tensor([ids])).logits[0]


def assert_same(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    assert theirs.std() > 0.1  # or agreement would mean nothing
    torch.testing.assert_close(ours, theirs, rtol=0, atol=TOLERANCE)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A model of all kinds of layers, by transformers and by us."""
    folder = tmp_path_factory.mktemp("v4")
    model = reference(**SHORT)
    save(model, folder)
    return model, load(folder)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_logits_in_any_chunks(pair, schedule):
    model, decoder = pair
    storage = compressed_storage(decoder.config, 10)
    ours = all_logits(decoder, storage, CachedSequence(BLOCKS), tokens(), schedule)
    assert_same(ours, expected(model, tokens()))


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_logits_of_every_variant(tmp_path, changes):
    model = reference(**SHORT, **changes)
    save(model, tmp_path)
    decoder = load(tmp_path)
    storage = compressed_storage(decoder.config, 6)
    schedule = (37, 1, 1, 20, 1, 30)
    ours = all_logits(decoder, storage, CachedSequence(IN_ORDER), tokens(), schedule)
    assert_same(ours, expected(model, tokens()))


def test_published_groups_and_keys(tmp_path):
    model = reference()
    save(model, tmp_path)
    write_json(tmp_path / "config.json", PUBLISHED)
    decoder = load(tmp_path)
    ids = tokens(420)
    storage = compressed_storage(decoder.config, 4)
    lengths = (1, 3, 7, 130, 127, 119, *(1,) * 33)
    ours = all_logits(decoder, storage, CachedSequence((0, 1, 2, 3)), ids, lengths)
    assert_same(ours, expected(model, ids))


def test_decode_as_transformers_decodes(pair):
    model, decoder = pair
    ids = tokens(60)
    theirs = []
    with torch.inference_mode():
        out = model(torch.tensor([ids[:40]]), use_cache=True)
        theirs.append(out.logits[0])
        for token in ids[40:]:
            out = model(torch.tensor([[token]]), cache=out.cache, use_cache=True)
            theirs.append(out.logits[0])
    storage = compressed_storage(decoder.config, 10)
    ours = all_logits(decoder, storage, CachedSequence(BLOCKS), ids, (40, *(1,) * 20))
    assert_same(ours, torch.cat(theirs))


def test_two_requests_in_one_batch(pair):
    model, decoder = pair
    storage = compressed_storage(decoder.config, 10)
    prompts = [tokens(50, seed=2), tokens(50, seed=3)]
    requests = [CachedSequence((0, 2, 4, 6)), CachedSequence((1, 3, 5, 7))]
    parts: list[list[torch.Tensor]] = [[], []]
    for lengths in ((11, 4), (1, 30), (1, 1), (20, 1), (1, 1), (16, 13)):
        chunks = []
        for request, prompt, length in zip(requests, prompts, lengths, strict=True):
            start = request.computed
            chunks.append(request.chunk(prompt[start : start + length], length))
        both = forward(decoder, storage, *chunks)
        for part, piece in zip(parts, both.split(lengths), strict=True):
            part.append(piece)
    for part, prompt in zip(parts, prompts, strict=True):
        assert_same(torch.cat(part), expected(model, prompt))


def test_recomputed_after_preemption_in_other_blocks(pair):
    model, decoder = pair
    storage = compressed_storage(decoder.config, 10)
    ids = tokens(70)
    all_logits(decoder, storage, CachedSequence((3, 1, 2)), ids[:45], (20, *(1,) * 25))
    # its blocks go to another request, and it begins again in blocks of its own
    other = tokens(33, seed=4)
    theirs = all_logits(decoder, storage, CachedSequence((1, 3, 0)), other, (32, 1))
    ours = all_logits(decoder, storage, CachedSequence((2, 4, 5, 6, 7)), ids, (45, 1, 24))
    assert_same(ours, expected(model, ids))
    assert_same(theirs, expected(model, other))
    assert storage.num_states == 2


@pytest.mark.parametrize("precision", [Precision.INT8, Precision.BF16], ids=str)
def test_quantised_weights_stay_close(tmp_path, precision):
    model = reference(hidden_size=64, moe_intermediate_size=64, q_lora_rank=32, **SHORT)
    save(model, tmp_path)
    decoder = load(tmp_path, precision)
    storage = compressed_storage(decoder.config, 6)
    ours = all_logits(decoder, storage, CachedSequence(IN_ORDER), tokens(), (NUM_TOKENS,))
    theirs = expected(model, tokens())
    # experts and entries are chosen by thresholds, so that a few rows may differ freely
    shares = torch.nn.functional.cosine_similarity(ours, theirs, dim=-1)
    assert shares.median() > 0.99
