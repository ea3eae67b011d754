"""Block tables: exact bookkeeping of tokens, shared prefixes and shortages."""

from typing import Any

from engine.kv.manager import KVManager


def _manager(num_blocks: int = 8, *, prefix_cache: bool = True, **more: Any) -> KVManager:
    return KVManager(num_blocks=num_blocks, block_size=4, prefix_cache=prefix_cache, **more)


def _compute(kv: KVManager, request_id: str, token_ids: list[int]) -> int:
    cached = kv.allocate(request_id, token_ids)
    assert kv.append(request_id, len(token_ids)) is not None
    kv.commit(request_id, token_ids, len(token_ids))
    kv.check_integrity()
    return cached


def test_blocks_cover_the_tokens_and_no_more() -> None:
    kv = _manager()
    assert kv.allocate("a", [1] * 9) == 0
    assert kv.append("a", 1) == (0,)
    assert kv.append("a", 4) == (0,)
    assert kv.append("a", 5) == (0, 1)
    assert kv.append("a", 9) == (0, 1, 2)
    assert kv.num_live_blocks == 3
    assert kv.num_live_tokens == 0
    kv.commit("a", [1] * 9, 9)
    assert kv.num_live_tokens == 9


def test_a_shortage_is_none_and_changes_nothing() -> None:
    kv = _manager(2)
    kv.allocate("a", [1] * 9)
    assert kv.append("a", 9) is None
    assert kv.num_live_blocks == 0
    assert kv.append("a", 8) == (0, 1)
    assert kv.append("a", 9) is None
    assert kv.blocks("a") == (0, 1)
    assert kv.capacity == 8


def test_the_second_turn_reuses_the_first() -> None:
    kv = _manager()
    _compute(kv, "turn 1", list(range(10)))
    kv.free("turn 1")
    assert kv.num_cached_blocks == 2
    assert _compute(kv, "turn 2", [*range(10), 77, 78]) == 8
    assert kv.blocks("turn 2") == (0, 1, 2)
    assert kv.num_live_tokens == 12


def test_shared_tokens_count_once_and_survive_the_first_owner() -> None:
    kv = _manager()
    _compute(kv, "a", list(range(9)))
    assert _compute(kv, "b", [*range(8), 50, 51]) == 8
    assert kv.num_live_blocks == 4
    assert kv.num_live_tokens == 8 + 1 + 2
    kv.free("a")
    assert kv.num_live_tokens == 10
    kv.check_integrity()


def test_cached_blocks_give_way_when_room_is_needed() -> None:
    kv = _manager(4)
    _compute(kv, "a", list(range(12)))
    kv.free("a")
    assert _compute(kv, "b", list(range(100, 116))) == 0
    assert kv.num_cached_blocks == 0
    kv.free("b")
    assert kv.allocate("c", [*range(12), 1]) == 0


def test_admission_counts_revived_blocks_as_taken() -> None:
    kv = _manager(4)
    _compute(kv, "a", list(range(8)))
    kv.free("a")
    tokens = [*range(8), 1]
    assert kv.can_allocate(tokens, num_tokens=9, spare=1)
    assert not kv.can_allocate(tokens, num_tokens=9, spare=2)
    assert not kv.can_allocate(tokens, num_tokens=17, spare=0)


def test_without_a_prefix_cache_nothing_is_kept() -> None:
    kv = _manager(prefix_cache=False)
    _compute(kv, "a", list(range(8)))
    kv.free("a")
    assert kv.num_cached_blocks == 0
    assert _compute(kv, "b", list(range(9))) == 0


def test_uncomputed_blocks_are_not_findable() -> None:
    kv = _manager()
    kv.allocate("a", list(range(12)))
    kv.append("a", 12)
    kv.commit("a", list(range(12)), 5)
    assert kv.allocate("b", list(range(12))) == 4


def test_recomputing_from_zero_keeps_the_table() -> None:
    kv = _manager(prefix_cache=False)
    _compute(kv, "a", list(range(8)))
    kv.commit("a", list(range(8)), 0)
    assert kv.num_live_tokens == 0
    assert kv.append("a", 9) == (0, 1, 2)


def test_freeing_twice_or_an_unknown_request_is_nothing() -> None:
    kv = _manager()
    _compute(kv, "a", [1, 2, 3])
    kv.free("a")
    kv.free("a")
    kv.check_integrity()


def test_a_text_loses_its_end_first_and_no_more_than_is_needed() -> None:
    kv = _manager(40)
    _compute(kv, "a", list(range(120)))
    kv.free("a")
    _compute(kv, "b", list(range(200, 248)))
    assert kv.num_cached_blocks == 30 - 16
    kv.free("b")
    assert kv.allocate("c", list(range(120))) == 14 * 4


def test_the_cached_blocks_stay_within_their_budget() -> None:
    kv = _manager(8, max_cached_blocks=3)
    _compute(kv, "a", list(range(8)))
    _compute(kv, "b", list(range(50, 62)))
    kv.free("a")
    assert kv.num_cached_blocks == 2
    kv.free("b")
    assert kv.num_cached_blocks == 3
    kv.check_integrity()
    assert kv.allocate("again", [*range(50, 62), 1]) == 12


def test_a_turn_goes_on_in_the_block_where_the_last_one_ended() -> None:
    kv = _manager(copies_tails=True)
    _compute(kv, "turn 1", list(range(10)))
    kv.free("turn 1")
    assert kv.num_cached_blocks == 3
    assert kv.allocate("turn 2", [*range(10), 77]) == 10
    assert kv.pending_copy("turn 2") is None
    assert kv.append("turn 2", 11) == (0, 1, 2)
    kv.commit("turn 2", [*range(10), 77], 11)
    assert (kv.num_live_blocks, kv.num_cached_blocks) == (3, 0)
    kv.check_integrity()


def test_a_branch_inside_a_block_gets_a_copy_and_the_source_is_held_meanwhile() -> None:
    kv = _manager(4, copies_tails=True, max_cached_blocks=4)
    _compute(kv, "a", [*range(12), 50])
    kv.free("a")
    branch = [*range(8), 8, 9, 10, 11]
    assert kv.allocate("b", branch) == 8  # three tokens are not worth a copy
    kv.free("b")
    kv = KVManager(num_blocks=5, block_size=8, prefix_cache=True, copies_tails=True)
    first = list(range(24))
    kv.allocate("a", first)
    kv.append("a", 24)
    kv.commit("a", first, 24)
    kv.free("a")
    assert kv.allocate("b", [*range(13), 99, 98]) == 13
    source, target = (1, kv.blocks("b")[-1])
    assert kv.pending_copy("b") == (source, target)
    assert target not in {0, 1, 2}
    assert kv.num_live_blocks == 3
    kv.check_integrity()
    kv.append("b", 15)
    kv.commit("b", [*range(13), 99, 98], 15)
    assert kv.pending_copy("b") is None
    assert kv.num_live_blocks == 2
    kv.check_integrity()
    kv.free("b")
    assert kv.allocate("c", [*range(13), 99, 98, 97]) == 15
    assert kv.allocate("d", first) == 23
    kv.check_integrity()


def test_a_copy_that_was_never_made_lets_its_source_go() -> None:
    kv = KVManager(num_blocks=3, block_size=8, prefix_cache=True, copies_tails=True)
    kv.allocate("a", list(range(16)))
    kv.append("a", 16)
    kv.commit("a", list(range(16)), 16)
    kv.free("a")
    kv.allocate("b", [0, 1, 2, 3, 4, 99])
    assert kv.pending_copy("b") == (0, 2)
    assert kv.allocate("no room", [0, 1, 2, 3, 4, 98]) == 5  # the second block gave way
    kv.free("b")
    kv.free("no room")
    kv.check_integrity()
    assert kv.num_live_blocks == 0


def test_room_that_others_would_give_back_counts_once() -> None:
    kv = _manager(4)
    _compute(kv, "a", list(range(8)))
    _compute(kv, "b", [*range(4), 9, 9, 9, 9])
    tokens = list(range(100, 112))
    assert not kv.can_allocate(tokens, num_tokens=12, spare=0)
    assert not kv.can_allocate(tokens, num_tokens=12, spare=0, without=["b"])
    assert kv.can_allocate(tokens, num_tokens=12, spare=0, without=["a", "b"])
    assert not kv.can_allocate([*range(4), 7], num_tokens=20, spare=0, without=["a", "b"])
