"""The cache of every kind of attention, held to published figures."""

from dataclasses import replace

import pytest

from engine.api import KVPrecision
from engine.model.footprint.cache import (
    BLOCK_TOKENS,
    CacheTrack,
    Pool,
    allocated_cache_bytes,
    attention,
    attention_flops,
    cache_bytes,
    cache_bytes_read,
    held_cache_bytes,
    layer_cache_bytes,
    whole_blocks,
)
from engine.planner.find import find_blueprint

MILLION = 1_048_576
GIB = 2**30


def test_a_13b_model_takes_three_quarters_of_a_mebibyte_a_token():
    tracks = find_blueprint("llama-13b").tracks
    assert cache_bytes(tracks, 1, KVPrecision.BF16) == 2 * 40 * 5120 * 2
    assert cache_bytes(tracks, 1, KVPrecision.BF16) / 2**20 == pytest.approx(0.78, abs=0.005)
    assert cache_bytes(tracks, 4096, KVPrecision.BF16) / 1e9 == pytest.approx(3.36, abs=0.01)


@pytest.mark.parametrize(
    ("name", "gib"),
    [("deepseek-v4-pro", 9.62), ("deepseek-v3.2", 83.9), ("deepseek-v4-flash", 6.72)],
)
def test_a_million_tokens_of_deepseek(name, gib):
    tracks = find_blueprint(name).tracks
    size = cache_bytes(tracks, MILLION, KVPrecision.BF16) / GIB
    assert size == pytest.approx(gib, abs=0.03 if gib > 50 else 0.005)


def test_v4_pro_by_hand():
    csa = 30 * (512 + 128) * 2 * MILLION // 4
    hca = 31 * 512 * 2 * MILLION // 128
    ring = 61 * 512 * 2 * 128
    tracks = find_blueprint("deepseek-v4-pro").tracks
    assert cache_bytes(tracks, MILLION, KVPrecision.BF16) == csa + hca + ring


def test_v3_2_by_hand():
    tracks = find_blueprint("deepseek-v3.2").tracks
    assert cache_bytes(tracks, 1, KVPrecision.BF16) == 61 * (512 + 64 + 128) * 2


def test_v4_pro_keeps_about_a_tenth_of_v3_2():
    pro, older = (find_blueprint(n).tracks for n in ("deepseek-v4-pro", "deepseek-v3.2"))
    ratio = cache_bytes(pro, MILLION, KVPrecision.BF16) / cache_bytes(
        older, MILLION, KVPrecision.BF16
    )
    assert ratio == pytest.approx(0.115, abs=0.001)


def test_a_window_stops_growing():
    track = attention(1, 4, 1, 256, window=512)
    sizes = [cache_bytes([track], n, KVPrecision.BF16) for n in (511, 512, 513, 100_000)]
    assert sizes[0] < sizes[1] == sizes[2] == sizes[3] == 512 * 2 * 256 * 2


def test_gemma_mixes_windows_and_full_layers():
    full, sliding = find_blueprint("gemma-3-270m").tracks
    assert (full.layers, full.capacity) == (3, None)
    assert (sliding.layers, sliding.capacity) == (15, 512)


def test_the_pool_sets_aside_whole_blocks() -> None:
    tracks = [attention(2, 4, 1, 16), attention(3, 4, 1, 16, window=8)]
    pool = Pool.of_context(17)
    assert allocated_cache_bytes(tracks, pool, KVPrecision.FP32) == 5 * 32 * 2 * 16 * 4
    ring = CacheTrack(1, 512, capacity=128)
    thousand = Pool.of_context(1_000)
    assert allocated_cache_bytes([ring], thousand, KVPrecision.BF16) == 128 * 512 * 2


def test_a_window_gets_what_it_needs_and_room_for_more_where_the_pool_is_long() -> None:
    null, step, another = 1, 66, 35  # (511 + 512) / 16 + 2, and (511 / 16) + 3
    assert Pool.of_context(512).window_blocks(512) is None
    assert Pool.of_context(1_024).window_blocks(512) is None  # a chunk and a window: all of it
    assert Pool.of_context(4_000).window_blocks(512) == null + step
    assert Pool.of_context(4_096).window_blocks(512) == null + step
    assert Pool(8_192, 4_096).window_blocks(512) == null + step + another
    assert Pool(8_192, 8_192).window_blocks(512) == null + step + another
    assert Pool.of_context(32_768).window_blocks(512) == null + step + 7 * another
    assert Pool(4_096, 4_096, chunk=32).window_blocks(512) == null + 36
    assert Pool.of_context(4_096).window_blocks(None) is None


def test_a_text_holds_its_window_in_whole_blocks() -> None:
    full, window = attention(1, 4, 1, 16), attention(1, 4, 1, 16, window=100)
    token = 2 * 16 * 4
    # 99 tokens before the next query, where they begin inside a block, and one block before them
    for tokens, blocks in ((1, 1), (112, 7), (144, 9), (145, 9), (10_000, 9)):
        held = held_cache_bytes([window], tokens, KVPrecision.FP32)
        assert held == blocks * BLOCK_TOKENS * token
        assert held_cache_bytes([full], tokens, KVPrecision.FP32) == whole_blocks(tokens) * token
    kept = replace(window, is_kept=True)
    assert held_cache_bytes([kept], 160, KVPrecision.FP32) == 160 * token


def test_a_window_of_which_nothing_is_given_back_takes_it_all() -> None:
    track = replace(attention(3, 4, 1, 16, window=8), is_kept=True)
    pool = Pool.of_context(4_096)
    assert allocated_cache_bytes([track], pool, KVPrecision.FP32) == 3 * 4_096 * 2 * 16 * 4


def test_layers_are_counted_one_by_one_where_they_are_known() -> None:
    tracks = [
        attention(1, 4, 1, 16, where=[2]),
        attention(2, 4, 1, 16, window=128, where=[0, 1]),
    ]
    pool = Pool.of_context(2_048)
    blocks = pool.window_blocks(128)
    assert blocks is not None
    small, large = (n * 2 * 16 * 4 for n in (blocks * 16, 2_048))
    assert layer_cache_bytes(tracks, 3, pool, KVPrecision.FP32) == [small, small, large]
    assert allocated_cache_bytes(tracks, pool, KVPrecision.FP32) == 2 * small + large
    spread = [replace(track, where=()) for track in tracks]
    mean = (2 * small + large) // 3
    assert layer_cache_bytes(spread, 3, pool, KVPrecision.FP32) == [mean] * 3


def test_an_unfinished_group_has_no_entry():
    track = CacheTrack(1, 512, stride=4)
    assert [track.entries(n) for n in (0, 3, 4, 7, 8)] == [0, 0, 1, 1, 2]


def test_only_the_chosen_entries_are_read():
    track = CacheTrack(2, 512, stride=4, read=1024, flops=10)
    assert cache_bytes_read([track], MILLION, KVPrecision.BF16) == 2 * 1024 * 512 * 2
    assert attention_flops([track], MILLION) == 2 * 1024 * 10
    assert attention_flops([track], 40) == 2 * 10 * 10


def test_grouped_queries_share_their_cache():
    many, few = attention(1, 32, 32, 128), attention(1, 32, 8, 128)
    assert cache_bytes([many], 10, KVPrecision.BF16) == 4 * cache_bytes(
        [few], 10, KVPrecision.BF16
    )
    assert many.flops == few.flops


@pytest.mark.parametrize(
    ("precision", "size"),
    [
        (KVPrecision.FP32, 4 * 256),
        (KVPrecision.BF16, 2 * 256),
        (KVPrecision.INT8, 256 + 2 * 2),
        (KVPrecision.INT4, 128 + 2 * 4 * 2 * 2),
    ],
)
def test_scales_of_quantised_entries_are_counted(precision, size):
    assert attention(1, 2, 1, 128).entry_bytes(precision) == size
