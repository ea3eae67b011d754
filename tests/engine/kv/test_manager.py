"""Block tables: exact bookkeeping of tokens, shared prefixes and shortages."""

from engine.kv.manager import KVManager


def _manager(num_blocks: int = 8, *, prefix_cache: bool = True) -> KVManager:
    return KVManager(num_blocks=num_blocks, block_size=4, prefix_cache=prefix_cache)


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
