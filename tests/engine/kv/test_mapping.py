"""Whose the blocks are, held against a search block by block."""

import random

import pytest

from engine.api import BlockRun, BlockState
from engine.config import KVFormat, KVGeometry, LayerGroup
from engine.kv.manager import KVManager
from engine.kv.mapping import KEYS_A_PICTURE, CacheMapper
from engine.kv.reuse import CacheIdentity, ReuseHistory

SIZE = 4
HERE = CacheIdentity("model", "precision", 1)
GROUPS = (LayerGroup((0, 2), 24), LayerGroup((1,), 24, window=6, chunk=8))


class Cache:
    """A manager, its history and a mapper, driven as the scheduler drives them."""

    def __init__(self, num_blocks=16, groups=(), *, prefix_cache=True):
        self.geometry = KVGeometry(3, 1, 8, SIZE, num_blocks, KVFormat.FLOAT32, groups)
        self.kv = KVManager(
            num_blocks=self.geometry.pools,
            block_size=SIZE,
            prefix_cache=prefix_cache,
            copies_tails=True,
        )
        self.history = ReuseHistory()
        self.mapper = CacheMapper(self.kv, self.geometry, self.history, HERE)
        self.running = {}
        self.texts = {}

    def run(self, request, conversation, token_ids, chunk=None):
        done = self.kv.allocate(request, token_ids)
        self.running[request] = conversation
        self.texts[request] = token_ids
        while done < len(token_ids):
            done = min(len(token_ids), done + (chunk or len(token_ids)))
            assert self.kv.append(request, done) is not None
            self.kv.commit(request, token_ids, done)

    def end(self, request):
        self.kv.free(request)
        conversation, token_ids = self.running.pop(request), self.texts.pop(request)
        if conversation is not None:
            self.history.note(conversation, HERE, token_ids)

    def runs(self, group=0):
        return list(self.mapper.groups(self.running)[group].runs)


def test_an_answer_under_way_and_what_is_free():
    cache = Cache()
    cache.run("1.1", "1", list(range(10)))
    assert cache.runs() == [
        BlockRun(3, BlockState.LIVE, ("1",), 0),
        BlockRun(13, BlockState.FREE),
    ]


def test_a_request_of_no_conversation_has_no_name():
    cache = Cache()
    cache.run("bench", None, list(range(5)))
    assert cache.runs()[0] == BlockRun(2, BlockState.LIVE, ("",), 0)
    cache.end("bench")
    assert cache.runs()[0] == BlockRun(2, BlockState.KEPT)


def test_kept_blocks_belong_to_the_conversation_that_computed_them():
    cache = Cache()
    cache.run("1.1", "1", list(range(10)))
    cache.end("1.1")
    assert cache.runs()[0] == BlockRun(3, BlockState.KEPT, ("1",), 0)


def test_the_beginning_that_two_conversations_share():
    cache = Cache()
    cache.run("1.1", "1", list(range(12)))
    cache.end("1.1")
    cache.run("2.1", "2", [*range(8), 50, 51, 52, 53, 54])
    runs = [run for run in cache.runs() if run.owners]
    assert sorted(runs, key=lambda run: (run.position, run.owners)) == [
        BlockRun(2, BlockState.LIVE, ("1", "2"), 0),
        BlockRun(1, BlockState.KEPT, ("1",), 8),
        BlockRun(2, BlockState.LIVE, ("2",), 8),
    ]


def test_another_models_texts_are_nobodys():
    cache = Cache()
    cache.run("1.1", "1", list(range(8)))
    cache.end("1.1")
    cache.history.note("1", CacheIdentity("model", "precision", 2), list(range(8)))
    assert cache.runs()[0] == BlockRun(2, BlockState.KEPT)


def test_without_a_prefix_cache_nothing_is_kept():
    cache = Cache(prefix_cache=False)
    cache.run("1.1", "1", list(range(8)))
    assert cache.runs()[0] == BlockRun(2, BlockState.LIVE, ("1",), 0)
    cache.end("1.1")
    assert cache.runs() == [BlockRun(16, BlockState.FREE)]


def test_what_a_window_has_left_behind():
    cache = Cache(24, GROUPS)
    cache.run("1.1", "1", list(range(20)), chunk=4)
    full, window = cache.mapper.groups(cache.running)
    assert (full.kind, full.layers, full.window) == ("full", 2, None)
    assert (window.kind, window.layers, window.window) == ("window", 1, 6)
    assert full.block_bytes == 2 * window.block_bytes
    assert full.runs[0] == BlockRun(5, BlockState.LIVE, ("1",), 0)
    assert sum(run.count for run in window.runs) == 23  # the null block is nobody's
    (live,) = [run for run in window.runs if run.state is BlockState.LIVE]
    assert live.owners == ("1",)
    assert live.position > 0
    assert live.position + live.count * SIZE == 20


def test_keys_of_a_long_text_are_worked_out_in_pieces():
    count = 2 * KEYS_A_PICTURE + 10
    cache = Cache(count + 5)
    cache.run("1.1", "1", list(range(count * SIZE)))
    cache.end("1.1")
    known = []
    for _ in range(4):
        runs = cache.runs()
        known.append(sum(run.count for run in runs if run.owners == ("1",)))
        assert sum(run.count for run in runs if run.state is BlockState.KEPT) == count
    assert known == [KEYS_A_PICTURE, 2 * KEYS_A_PICTURE, count, count]


def test_a_text_that_went_on_or_changed_keeps_the_keys_of_its_beginning():
    cache = Cache()
    cache.run("1.1", "1", list(range(16)))
    cache.end("1.1")
    cache.runs()
    cache.run("1.2", "1", [*range(6), 90, 91, 92])
    cache.end("1.2")
    runs = cache.runs()
    mine = [run for run in runs if run.owners == ("1",)]
    assert {run.position for run in mine} == {0, 4}
    assert sum(run.count for run in mine) == 3
    # the end of the text as it was is kept, and nobody's
    assert sum(run.count for run in runs if run.state is BlockState.KEPT and not run.owners) == 3


def _by_block(cache, group):
    """Owners of each block, searched one by one."""
    pool, prefix = cache.kv.groups[group].pool, cache.kv.groups[group].prefix
    found = {}
    for request, conversation in cache.running.items():
        windows = cache.kv.windows(request)
        table = cache.kv.blocks(request) if not group else windows[group - 1].block_ids
        for block in table:
            found.setdefault(block, set()).add(conversation or "")
    for conversation, tokens in cache.history.known(HERE):
        keys = list(prefix.keys(tokens))
        blocks = [prefix.find(key) for key in keys]
        rest = list(tokens[len(keys) * SIZE :])
        tail = prefix.match_tail(keys[-1] if keys else None, [*rest, 0]) if rest else None
        if tail is not None and tail.num_tokens == len(rest):
            blocks.append(tail.block)
        for block in blocks:
            if block is not None:
                found.setdefault(block, set()).add(conversation)
    first = int(cache.kv.groups[group].window > 0)
    states = {0: BlockState.FREE, 1: BlockState.LIVE, 2: BlockState.KEPT}
    return [
        (states[pool.states[block]], tuple(sorted(found.get(block, ()))))
        for block in range(first, len(pool.states))
    ]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("groups", [(), GROUPS])
def test_as_searched_block_by_block(seed, groups):
    draw = random.Random(seed)
    cache = Cache(24, groups)
    for number in range(30):
        if len(cache.running) >= 2 or (cache.running and draw.random() < 0.4):
            cache.end(draw.choice(sorted(cache.running)))
        shared = draw.randrange(3) * 4 + draw.randrange(3)
        token_ids = [*range(shared), *(100 * number + n for n in range(draw.randrange(1, 14)))]
        if cache.kv.find_place(token_ids, num_tokens=len(token_ids), spare=0):
            conversation = draw.choice(["1", "2", "3", None])
            cache.run(f"r{number}", conversation, token_ids, chunk=draw.randrange(2, 8))
        cache.kv.check_integrity()
        for group in range(len(cache.kv.groups)):
            runs = cache.runs(group)
            spread = [(run.state, run.owners) for run in runs for _ in range(run.count)]
            assert spread == _by_block(cache, group)
