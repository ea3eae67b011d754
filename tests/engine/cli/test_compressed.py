"""The demonstration of compressed attention: its figures are those of the planner."""

import json

import pytest
import torch

from engine.__main__ import main
from engine.api import KVPrecision
from engine.cli.compressed import count_flops, grow
from engine.cli.compressed_model import TWIN, build_small_v4
from engine.cli.latent_twin import LatentTwin
from engine.kv.compressed_geometry import EntryForm
from engine.model.footprint.cache import cache_bytes
from engine.model.footprint.checkpoint import tracks_of

TOKENS = 4_096


@pytest.fixture(scope="module")
def decoder():
    return build_small_v4()


@pytest.mark.parametrize(
    ("form", "precision"),
    [(EntryForm.BF16, KVPrecision.BF16), (EntryForm.INT4, KVPrecision.INT4)],
    ids=str,
)
def test_the_cache_grows_as_planned(decoder, form, precision):
    tracks = [t for t in tracks_of(decoder.config.base) if t.capacity is None]
    few, many = grow(decoder, TOKENS // 2, form), grow(decoder, TOKENS, form)
    planned = cache_bytes(tracks, TOKENS, precision) - cache_bytes(tracks, TOKENS // 2, precision)
    assert many.entry_bytes - few.entry_bytes == planned
    assert many.state_bytes == few.state_bytes


def test_report(capsys):
    assert main(["compressed", "--tokens", "4096", "8192", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    first, last = result["measured"]
    assert (first["context"], last["context"]) == (4096, 8192)
    assert last["cache_share"] < 0.15
    # from here on both grow by keys to score alone, and ours has a quarter of them
    assert 0 < last["flops"] - first["flops"] < last["v32_flops"] - first["v32_flops"]
    assert last["flops_share_of_v3"] < first["flops_share_of_v3"]
    sizes = [row["entry_bytes"] for row in result["forms"]]
    assert sizes[0] > sizes[2] > sizes[1] > sizes[3]
    assert all(0 <= row["divergence_nats"] < 0.1 for row in result["forms"])
    published = result["published"][0]
    assert published["cache_bytes"] < published["v32_cache_bytes"]


def test_table(capsys):
    assert main(["compressed", "--tokens", "1024"]) == 0
    out = capsys.readouterr().out
    assert "Measured: V4-Pro and V3.2" in out
    assert "float8_e4m3fn" in out
    assert "Planned: the published models" in out


def test_the_twin_keeps_a_latent_and_a_key_a_token():
    twin = LatentTwin(TWIN, 512, torch.bfloat16)
    assert twin.cache_bytes == 512 * 6 * (32 + 4 + 8) * 2
    assert twin.step(512).shape == (1, TWIN.vocab)


def test_the_twin_attends_to_the_best_or_to_all():
    twin = LatentTwin(TWIN, 4_096, torch.bfloat16)
    every = [count_flops(lambda n=n: twin.step(n, is_sparse=False)) for n in (2_048, 4_096)]
    best = [count_flops(lambda n=n: twin.step(n)) for n in (2_048, 4_096)]
    per_entry = 2 * TWIN.layers * TWIN.heads * (2 * TWIN.latent + TWIN.rotary)
    assert every[1] - every[0] == 2_048 * per_entry
    per_key = 2 * TWIN.layers * (TWIN.index_heads * TWIN.index_dim + TWIN.index_heads)
    assert best[1] - best[0] == 2_048 * per_key
