"""How many answers have room at once."""

from dataclasses import replace

import pytest

from engine.api import KVPool
from engine.config import KVFormat, KVGeometry, LayerGroup
from engine.kv.group import pools_of
from tests.helpers.fake_model import make_info
from tests.helpers.scheduling import make_config

INFO = replace(make_info("m.gguf", make_config(), 1), kv_block_size=16)


@pytest.mark.parametrize(("tokens", "expected"), [(16, 10), (17, 7), (200, 1), (10_000, 0)])
def test_a_block_stays_free_for_each(tokens, expected) -> None:
    assert replace(INFO, kv_pools=(KVPool(20),)).num_fitting(tokens) == expected


def test_a_window_takes_no_more_however_long_the_answer() -> None:
    info = replace(INFO, kv_pools=(KVPool(1_000), KVPool(40, 9)))
    assert info.num_fitting(16) == 20
    assert info.num_fitting(160) == info.num_fitting(1_600) == 4


def test_without_pools_the_budget_tells() -> None:
    info = replace(INFO, kv_pools=(), kv_bytes_per_token=10, kv_budget_bytes=20 * 160)
    assert info.num_fitting(16) == 10


def test_the_null_block_of_a_window_is_nobodys() -> None:
    groups = (LayerGroup((0,), 50), LayerGroup((1,), 30, window=64, chunk=32))
    geometry = KVGeometry(2, 1, 16, 16, 50, KVFormat.FLOAT32, groups)
    assert pools_of(geometry) == (KVPool(50), KVPool(29, 8))
