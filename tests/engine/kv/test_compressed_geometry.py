"""Bytes of compressed caches: the published figures, and what a planner counts."""

import pytest

from engine.api import KVPrecision
from engine.config import KVFormat
from engine.kv.compressed_geometry import CompressedGeometry, Compression, EntryForm
from engine.model.footprint.cache import cache_bytes
from engine.planner.find import find_blueprint

PRO = Compression(
    csa_layers=30,
    hca_layers=31,
    csa_stride=4,
    hca_stride=128,
    index_dim=128,
    index_heads=64,
    index_top=1024,
    window=128,
)
CONTEXT = 1 << 20


def pro(form: EntryForm, kept: KVFormat = KVFormat.BFLOAT16) -> CompressedGeometry:
    return CompressedGeometry(
        num_layers=61,
        num_kv_heads=1,
        head_dim=512,
        block_size=PRO.block_size,
        num_blocks=CONTEXT // PRO.block_size,
        format=kept,
        compression=PRO,
        form=form,
    )


def test_a_million_tokens_of_v4_pro():
    geometry = pro(EntryForm.BF16)
    assert geometry.bytes_per_token == 9_848
    total = geometry.total_bytes + geometry.ring_bytes
    assert round(total / 2**30, 2) == 9.62
    assert geometry.ring_bytes == 61 * 128 * 512 * 2


@pytest.mark.parametrize(
    ("form", "precision"),
    [
        (EntryForm.FP32, KVPrecision.FP32),
        (EntryForm.BF16, KVPrecision.BF16),
        (EntryForm.INT8, KVPrecision.INT8),
        (EntryForm.INT4, KVPrecision.INT4),
    ],
)
def test_entries_grow_as_planned(form, precision):
    tracks = find_blueprint("deepseek-v4-pro").tracks
    window = PRO.window
    planned = cache_bytes(tracks, CONTEXT, precision) - cache_bytes(tracks, window, precision)
    geometry = pro(form)
    blocks = geometry.num_blocks - window // geometry.block_size
    assert planned == blocks * geometry.bytes_per_block


def test_fp8_halves_entries_and_int4_halves_them_again():
    sixteen, eight, four = (
        pro(form).total_bytes for form in (EntryForm.BF16, EntryForm.FP8, EntryForm.INT4)
    )
    assert eight * 2 == sixteen
    # scales of INT4 take their share
    assert 0.5 < four / eight < 0.65


def test_what_is_pending_does_not_depend_on_the_context():
    geometry = pro(EntryForm.BF16)
    csa = 30 * 8 * (4 * 512 + 4 * 128)
    hca = 31 * 128 * 2 * 512
    assert geometry.pending_bytes == (csa + hca) * 2
    assert geometry.state_bytes == geometry.ring_bytes + geometry.pending_bytes


def test_a_model_of_windows_alone_has_blocks_to_count():
    alone = Compression(0, 0, 4, 128, 128, 64, 1024, 128)
    geometry = CompressedGeometry(
        num_layers=2,
        num_kv_heads=1,
        head_dim=64,
        block_size=128,
        num_blocks=3,
        format=KVFormat.FLOAT32,
        compression=alone,
        form=EntryForm.FP32,
    )
    assert geometry.total_bytes == 3
    assert geometry.bytes_per_token == 1
