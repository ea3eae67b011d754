"""Block tables: exact bookkeeping of tokens, shared prefixes and shortages."""

from typing import Any

import pytest

from engine.config import LayerGroup
from engine.kv.block_pool import NULL
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


def test_what_was_found_of_a_text_need_not_be_looked_for_again() -> None:
    kv = _manager()
    _compute(kv, "a", list(range(10)))
    kv.free("a")
    text = [*range(10), 77]
    hit = kv.find_place(text, num_tokens=11, spare=0)
    assert hit is not None
    assert kv.allocate("b", text, hit=hit) == hit.num_tokens == 8
    assert kv.blocks("b") == (0, 1)
    kv.check_integrity()


def test_live_tokens_are_counted_as_tables_grow_and_close() -> None:
    kv = _manager()
    text = list(range(20))
    kv.allocate("a", text)
    for count in (3, 4, 9):
        kv.append("a", count)
        kv.commit("a", text, count)
        assert kv.num_live_tokens == count
    assert _compute(kv, "b", [*range(8), 50]) == 8
    assert kv.num_live_tokens == 10
    kv.append("a", 10)
    kv.commit("a", text, 10)
    assert kv.num_live_tokens == 11
    kv.free("b")
    assert kv.num_live_tokens == 10


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
    assert kv.find_place(tokens, num_tokens=9, spare=1)
    assert not kv.find_place(tokens, num_tokens=9, spare=2)
    assert not kv.find_place(tokens, num_tokens=17, spare=0)


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
    assert not kv.find_place(tokens, num_tokens=12, spare=0)
    assert not kv.find_place(tokens, num_tokens=12, spare=0, without=["b"])
    assert kv.find_place(tokens, num_tokens=12, spare=0, without=["a", "b"])
    assert not kv.find_place([*range(4), 7], num_tokens=20, spare=0, without=["a", "b"])


# ---------------------------------------------------------------- layers of several kinds

WINDOW, CHUNK = 6, 8


def _mixed(full: int = 20, window: int = 20, **more: Any) -> KVManager:
    """Three layers with a window of 6 tokens beside one that looks back over everything."""
    groups = [LayerGroup((3,), full), LayerGroup((0, 1, 2), window, WINDOW, CHUNK)]
    more = {"block_size": 4, "prefix_cache": True, **more}
    return KVManager(num_blocks=groups, **more)


def _read(kv: KVManager, request_id: str, token_ids: list[int], chunk: int = CHUNK) -> int:
    """Compute a text chunk by chunk; returns how much of it was cached."""
    cached = done = kv.allocate(request_id, token_ids)
    while done < len(token_ids):
        done = min(done + chunk, len(token_ids))
        assert kv.append(request_id, done, room=len(token_ids)) is not None
        kv.check_integrity()
        kv.commit(request_id, token_ids, done)
        kv.check_integrity()
    return cached


def _live(kv: KVManager) -> list[int]:
    return [use.num_live for use in kv.uses]


def test_a_window_keeps_its_own_blocks_alone() -> None:
    kv = _mixed()
    _read(kv, "a", list(range(34)))
    # the next query, 34, looks back to token 29: blocks 7 and 8, and 6 is kept for others
    assert _live(kv) == [9, 3]
    (table,) = kv.windows("a")
    assert table.block_ids[:6] == (NULL,) * 6
    assert NULL not in table.block_ids[6:]
    assert NULL in kv.blocks("a")  # an ordinary block of a pool without windows
    assert (kv.num_live_tokens, kv.capacity) == (34, 80)
    kv.free("a")
    assert _live(kv) == [0, 0]


def test_a_text_is_found_again_behind_its_window() -> None:
    kv = _mixed(copies_tails=True)
    first = list(range(34))
    _read(kv, "a", first)
    kv.free("a")
    assert _read(kv, "b", [*first, 77, 78]) == 34
    assert _live(kv) == [9, 3]
    kv.free("b")


def test_a_beginning_is_found_only_where_its_own_window_is_kept() -> None:
    kv = _mixed(prefix_cache=True)
    first = list(range(32))
    _read(kv, "a", first)
    kv.free("a")
    # all of it was kept so far, also what the window has left behind
    branch = [*first[:18], 90, 91, 92]
    assert kv.allocate("b", branch) == 16
    (table,) = kv.windows("b")
    assert table.block_ids[0] == NULL
    assert NULL not in table.block_ids[1:]
    kv.check_integrity()


def test_without_the_window_behind_it_a_beginning_is_worth_nothing() -> None:
    kv = _mixed()
    first = list(range(32))
    _read(kv, "a", first)
    kv.free("a")
    kv.groups[1].reclaim(kv.groups[1].pool.num_passed)
    assert kv.allocate("b", [*first[:18], 90, 91, 92]) == 0
    kv.free("b")
    assert kv.allocate("c", [*first[:30], 90, 91, 92]) == 28  # it parts shortly before the end
    assert kv.allocate("d", [*first, 1]) == 32
    kv.check_integrity()


def test_a_long_prompt_does_not_drive_out_the_ends_of_others() -> None:
    kv = _mixed(full=100, window=12)
    short = list(range(30))
    _read(kv, "short", short)
    kv.free("short")
    _read(kv, "long", list(range(100, 300)))
    assert kv.allocate("again", [*short, 1]) == 28
    kv.check_integrity()


def test_the_budget_is_in_bytes_of_all_kinds_and_the_oldest_goes_first() -> None:
    kv = _mixed(max_cached_blocks=14)  # as many layers' blocks: a full one is 1, a window's 3
    _read(kv, "a", list(range(16)))
    kv.free("a")
    full, window = kv.uses
    assert (full.num_cached, window.num_cached) == (4, 3)
    _read(kv, "b", list(range(50, 62)))
    kv.free("b")
    kv.check_integrity()
    assert sum(use.num_cached * use.num_layers for use in kv.uses) <= 14
    assert kv.allocate("again", [*range(50, 62), 1]) == 12
    assert kv.allocate("gone", [*range(16), 1]) == 0


def test_a_shortage_in_one_kind_changes_no_other() -> None:
    kv = _mixed(window=4)
    kv.allocate("a", [1] * 40)
    assert kv.append("a", 16) is None
    assert _live(kv) == [0, 0]
    assert kv.append("a", 12) is not None
    assert _live(kv) == [3, 3]
    kv.check_integrity()


def test_admission_asks_each_kind_for_what_it_will_need() -> None:
    most = 6  # (5 + 8) / 4, and two more
    kv = _mixed(full=200, window=1 + 2 * most)
    tokens = list(range(400))
    assert kv.find_place(tokens, num_tokens=400, spare=most)
    assert not kv.find_place(tokens, num_tokens=400, spare=most + 1)
    assert kv.find_place(tokens, num_tokens=200, spare=0, before=[200])
    assert not kv.find_place(tokens, num_tokens=200, spare=1, before=[200])
    _read(kv, "a", list(range(500, 600)))
    assert _live(kv)[1] == 3
    assert kv.find_place(tokens, num_tokens=200, spare=0, growing=[("a", 112)])
    assert not kv.find_place(tokens, num_tokens=200, spare=1, growing=[("a", 112)])
    assert kv.can_append("a", 104, [])
    assert not kv.can_append("a", 140, [])
    assert kv.find_place(tokens, num_tokens=400, spare=most, without=["a"])


def test_a_private_table_starts_again_with_all_blocks_of_its_window() -> None:
    kv = _mixed(prefix_cache=False)
    tokens = list(range(30))
    kv.allocate_private("a")
    for end in (8, 16, 24, 30):
        assert kv.append("a", end) is not None
        kv.commit("a", tokens, end)
    kv.commit("a", tokens, 0)
    kv.check_integrity()
    assert _live(kv) == [8, 0]
    assert kv.append("a", 8) is not None
    assert NULL not in kv.windows("a")[0].block_ids
    kv.commit("a", tokens, 8)
    with pytest.raises(AssertionError, match="left behind"):
        kv.commit("a", tokens, 4)


def test_windows_alone_hold_texts_of_any_length() -> None:
    kv = KVManager(
        num_blocks=[LayerGroup((0, 1), 9, WINDOW, CHUNK)],
        block_size=4,
        prefix_cache=True,
        copies_tails=True,
    )
    assert kv.capacity > 1 << 40
    tokens = list(range(1_000))
    _read(kv, "a", tokens)
    assert kv.windows("a") == ()
    assert kv.num_live_blocks == 3
    assert kv.num_live_tokens == 12
    kv.free("a")
    assert _read(kv, "b", [*tokens, 3]) == 1_000
