"""The same text kept in other ways, in bytes done by hand."""

from engine.api import CacheForm, CacheWay
from engine.config import KVFormat, KVGeometry, LayerGroup
from engine.kv.compressed_geometry import CompressedGeometry, Compression, EntryForm
from engine.kv.ways import cache_ways


def bytes_of(ways):
    return {way.form: way.num_bytes for way in ways}


def test_grouped_heads():
    geometry = KVGeometry(30, 3, 64, 16, 100, KVFormat.FLOAT32)
    ways = cache_ways(geometry, 9, 1_000)
    vectors = 2 * 30 * 3 * 1_000
    assert ways == (
        CacheWay(CacheForm.FP32, vectors * 256, is_present=True),
        CacheWay(CacheForm.BF16, vectors * 128),
        CacheWay(CacheForm.INT8, vectors * 66),
        CacheWay(CacheForm.INT4, vectors * (32 + 2 * 2 * 2)),
        CacheWay(CacheForm.ALL_HEADS, 3 * vectors * 256),
    )


def test_sixteen_bits_are_sixteen_bits():
    geometry = KVGeometry(2, 2, 64, 16, 100, KVFormat.FLOAT16)
    assert [way.form for way in cache_ways(geometry, 2, 5) if way.is_present] == [CacheForm.BF16]


def test_heads_that_quantised_vectors_do_not_divide():
    geometry = KVGeometry(2, 2, 36, 16, 100, KVFormat.FLOAT32)
    forms = [way.form for way in cache_ways(geometry, 2, 5)]
    assert forms == [CacheForm.FP32, CacheForm.BF16]


def test_a_window_keeps_no_more_than_itself():
    groups = (LayerGroup((0,), 10), LayerGroup((1, 2), 10, window=100))
    geometry = KVGeometry(3, 1, 8, 16, 10, KVFormat.FLOAT32, groups)
    layer = 2 * 1 * 32
    found = bytes_of(cache_ways(geometry, 4, 1_000))
    assert found[CacheForm.FP32] == layer * (1_000 + 2 * 100)
    assert found[CacheForm.ALL_HEADS] == 4 * found[CacheForm.FP32]
    assert found[CacheForm.NO_WINDOW] == layer * 3 * 1_000
    assert bytes_of(cache_ways(geometry, 4, 50))[CacheForm.FP32] == layer * 3 * 50


def test_a_compressed_cache():
    shape = Compression(1, 1, 4, 128, 16, 2, 8, 32)
    geometry = CompressedGeometry(
        num_layers=2,
        num_kv_heads=1,
        head_dim=32,
        block_size=128,
        num_blocks=4,
        format=KVFormat.FLOAT32,
        compression=shape,
        form=EntryForm.INT8,
    )
    ways = cache_ways(geometry, 4, 1_280)
    assert [way.form for way in ways if way.is_present] == [CacheForm.INT8]
    found = bytes_of(ways)
    per_token = -(-(32 * (34 + 18) + 34) // 128)
    assert found[CacheForm.INT8] == geometry.state_bytes + per_token * 1_280
    assert found[CacheForm.INT8] < found[CacheForm.FP32]
    assert found[CacheForm.ALL_HEADS] == 2 * 2 * 4 * 1_280 * 34
