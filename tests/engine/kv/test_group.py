"""One kind of layers: what a window needs, gives back, and can do with."""

import itertools

import pytest

from engine.config import KVFormat, KVGeometry, LayerGroup
from engine.kv.block_pool import NULL
from engine.kv.group import BlockGroup, BlockTable, lone_tables

SIZE = 4


def _group(window: int, num_blocks: int = 12, chunk: int = 8) -> BlockGroup:
    size = LayerGroup((0, 1), num_blocks, window, chunk)
    return BlockGroup(size, SIZE, itertools.count(), has_prefix=True)


def test_layers_without_a_window_look_back_on_everything() -> None:
    group = _group(0)
    table = BlockTable()
    assert group.grow(table, 40, 40)
    assert group.first_seen(1_000) == 0
    assert not group.pass_by(table, 40)
    assert group.capacity == 12 * SIZE
    assert group.most_blocks(41) == 11


@pytest.mark.parametrize(
    ("window", "position", "first"),
    [(1, 0, 0), (1, 7, 1), (1, 8, 2), (6, 5, 0), (6, 9, 1), (6, 12, 1), (6, 13, 2), (100, 99, 0)],
)
def test_the_first_block_that_a_query_looks_back_on(
    window: int, position: int, first: int
) -> None:
    assert _group(window).first_seen(position) == first
    oldest = max(0, position - window + 1)
    assert first * SIZE <= oldest < (first + 1) * SIZE


def test_what_a_window_has_left_behind_becomes_the_null_block() -> None:
    group = _group(6)
    table = BlockTable()
    group.grow(table, 16, 16)
    assert NULL not in table.blocks
    before = list(table.blocks)
    assert group.pass_by(table, 9) == ()  # one block more than the window needs is kept
    assert group.pass_by(table, 13) == before[:1]
    assert group.pass_by(table, 16) == ()
    assert table.blocks == [NULL, *before[1:]]
    assert table.held == before[1:]
    group.release(before[:1], is_passed=True)
    group.check_integrity([table])


def test_a_request_of_any_length_needs_a_window_and_a_chunk() -> None:
    # (5 + 8) / 4, one more where it begins inside a block, and one before it
    group = _group(6)
    assert [group.most_blocks(n) for n in (1, 4, 5, 24, 25, 10_000)] == [1, 1, 2, 6, 6, 6]
    assert group.capacity > 1 << 40
    assert _group(6, num_blocks=6).capacity == 5 * SIZE  # the null block is nobody's
    table = BlockTable()
    group.grow(table, 16, 16)
    assert (group.num_missing(table, 40), group.num_wanted(table, 40)) == (6, 2)


def test_a_shortage_changes_nothing() -> None:
    group = _group(6, num_blocks=4)
    table = BlockTable()
    assert not group.grow(table, 16, 16)
    assert table.blocks == []
    assert group.grow(table, 12, 12)
    assert group.pool.num_available == 0


def test_a_text_alone_goes_round_in_the_pools_of_windows() -> None:
    groups = (LayerGroup((1,), 10), LayerGroup((0,), 4, 6, 3))
    geometry = KVGeometry(2, 1, 2, SIZE, 10, KVFormat.FLOAT32, groups)
    assert lone_tables(geometry, 26) == [tuple(range(7)), (1, 2, 3, 1, 2, 3, 1)]
    plain = KVGeometry(2, 1, 2, SIZE, 10, KVFormat.FLOAT32)
    assert lone_tables(plain, 26) == [tuple(range(7))]
