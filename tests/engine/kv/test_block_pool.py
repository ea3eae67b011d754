"""The pool hands blocks out once, keeps cached ones, and keeps neighbours together."""

import itertools

import pytest

from engine.kv.block_pool import BlockPool


def _take(pool: BlockPool, count: int, after: int | None = None) -> list[int]:
    blocks: list[int] = []
    for _ in range(count):
        block = pool.take(after)
        assert block is not None
        blocks.append(block)
        after = block
    return blocks


def test_one_owner_gets_neighbours_from_the_start() -> None:
    pool = BlockPool(8)
    assert _take(pool, 8) == list(range(8))
    assert pool.take(7) is None
    assert (pool.num_live, pool.num_blank, pool.num_available) == (8, 0, 0)


def test_a_second_owner_starts_in_the_middle_so_that_both_can_grow() -> None:
    pool = BlockPool(16)
    first = _take(pool, 4)
    second = _take(pool, 4)
    assert second == [10, 11, 12, 13]
    assert _take(pool, 3, after=first[-1]) == [4, 5, 6]
    pool.check_integrity()


def test_an_owner_without_room_in_half_a_run_gets_the_whole_run() -> None:
    pool = BlockPool(16)
    _take(pool, 4)
    assert pool.take(None, room=7) == 4


def test_a_block_taken_on_the_right_moves_the_owner_to_the_longest_run() -> None:
    pool = BlockPool(12)
    first, second = _take(pool, 2), _take(pool, 1)
    between = second[0] - first[-1] - 1
    grown = _take(pool, between + 1, after=first[-1])
    assert grown[:-1] == list(range(2, second[0]))
    assert grown[-1] > second[0]


def test_shared_blocks_live_until_the_last_owner_lets_go() -> None:
    pool = BlockPool(4)
    (block,) = _take(pool, 1)
    pool.share(block)
    pool.release([block])
    assert (pool.references(block), pool.num_live) == (1, 1)
    pool.release([block])
    assert (pool.num_live, pool.num_blank) == (0, 4)


def test_kept_blocks_are_cached_and_can_be_revived() -> None:
    pool = BlockPool(4)
    blocks = _take(pool, 3)
    pool.release(blocks, keep=set(blocks[:2]))
    assert (pool.num_cached, pool.num_blank, pool.num_available) == (2, 2, 4)
    pool.share(blocks[0])
    assert (pool.num_cached, pool.num_live) == (1, 1)
    pool.check_integrity()


def test_the_oldest_release_is_reclaimed_first_and_from_its_end() -> None:
    pool = BlockPool(6)
    old, new = _take(pool, 2), _take(pool, 2)
    pool.release(old, keep=set(old))
    pool.release(new, keep=set(new))
    assert pool.reclaim(1) == old[1:]
    assert pool.num_blank == 3
    assert pool.reclaim(2) == [old[0], new[1]]
    assert pool.reclaim(9) == new[:1]
    assert pool.reclaim(1) == []
    pool.check_integrity()


def test_reviving_and_releasing_again_makes_blocks_young() -> None:
    pool = BlockPool(6)
    old, new = _take(pool, 1), _take(pool, 1)
    pool.release(old, keep=set(old))
    pool.release(new, keep=set(new))
    pool.share(old[0])
    pool.release(old, keep=set(old))
    assert pool.reclaim(1) == new


def test_wrong_use_is_caught() -> None:
    pool = BlockPool(2)
    (block,) = _take(pool, 1)
    pool.release([block])
    with pytest.raises(AssertionError, match="more often"):
        pool.release([block])
    with pytest.raises(AssertionError, match="blank"):
        pool.share(block)


def test_the_null_block_belongs_to_nobody() -> None:
    pool = BlockPool(4, has_null=True)
    assert (pool.num_blocks, pool.num_available) == (3, 3)
    assert _take(pool, 3) == [1, 2, 3]
    assert pool.take(None) is None
    pool.release([1, 2, 3], keep=[2])
    pool.check_integrity()
    assert pool.reclaim(9) == [2]


def test_what_windows_have_left_behind_goes_first_from_its_beginning_on() -> None:
    pool = BlockPool(12)
    blocks = _take(pool, 10)
    pool.release(blocks[:3], keep=blocks)
    pool.release(blocks[3:6], keep=blocks, is_passed=True)
    pool.release(blocks[6:8], keep=blocks, is_passed=True)
    pool.release(blocks[8:], keep=blocks)
    assert pool.num_passed == 5
    pool.check_integrity()
    pool.share(blocks[4])
    pool.check_integrity()
    assert pool.reclaim(1) == [blocks[3]]
    assert pool.reclaim(2) == [blocks[5], blocks[6]]
    assert pool.reclaim_oldest(9) == [blocks[7]]
    assert pool.reclaim_oldest(9) == blocks[:3]
    assert pool.reclaim(9) == blocks[8:]
    assert pool.reclaim_oldest(1) == []
    pool.check_integrity()


def test_pools_can_tell_which_of_them_keeps_the_oldest() -> None:
    ages = itertools.count()
    first, second = BlockPool(4, ages=ages), BlockPool(4, ages=ages)
    for pool in (second, first):
        pool.release(_take(pool, 2), keep=range(4))
    assert second.oldest is not None
    assert first.oldest is not None
    assert second.oldest < first.oldest
    first.release(_take(first, 1), keep=range(4), is_passed=True)
    assert first.oldest < second.oldest
    first.reclaim(4)
    assert first.oldest is None
