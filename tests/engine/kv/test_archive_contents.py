"""Kept caches of layers with windows: what is needed to go on is there, and nothing else is."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from engine.api import CacheRestored, CacheSaved, Event
from engine.config import KVFormat, KVGeometry, LayerGroup
from engine.kv import archive as archive_module
from engine.kv.archive import CacheArchive
from engine.kv.archive_contents import BlockContents
from engine.kv.block_pool import NULL
from engine.kv.grouped import make_storage
from engine.kv.manager import KVManager
from engine.kv.reuse import CacheIdentity, ReuseHistory
from tests.helpers.logfail import LogFail

SIZE, WINDOW, CHUNK = 4, 7, 8
TOKENS = list(range(50))  # twelve full blocks
CPU = torch.device("cpu")


class Engine:
    """One run of the app: caches of two kinds, what was computed, and the archive."""

    def __init__(self, full: int = 40, window: int = 30, *, has_full: bool = True) -> None:
        groups = [LayerGroup((1,), full)] if has_full else []
        groups.append(LayerGroup((0, 2), window, WINDOW, CHUNK))
        geometry = KVGeometry(3, 1, 8, SIZE, groups[0].num_blocks, KVFormat.FLOAT32, tuple(groups))
        self.kv = KVManager(
            num_blocks=geometry.pools, block_size=SIZE, prefix_cache=True, copies_tails=True
        )
        self.storage = make_storage(geometry, CPU)
        self.history = ReuseHistory()
        self.identity = CacheIdentity("model", "int4")
        self.archive = CacheArchive(self.kv, self.storage, self.history, self.identity)

    def compute(self, tokens: list[int], conversation: str = "7") -> int:
        """Answer ``tokens``; each token's place holds what its text says up to there."""
        cached = done = self.kv.allocate("request", tokens)
        while done < len(tokens):
            start, done = done, min(done + CHUNK, len(tokens))
            blocks = self.kv.append("request", done)
            assert blocks is not None
            tables = [blocks, *(table.block_ids for table in self.kv.windows("request"))]
            for group, table in enumerate(tables):
                for position in range(start, done):
                    (block,) = self.storage.parts[group].block_tensors(table[position // SIZE])
                    block[:, :, position % SIZE] = sum(tokens[: position + 1]) + group / 2
            self.kv.commit("request", tokens, done)
        self.kv.free("request")
        self.kv.check_integrity()
        self.history.note(conversation, self.identity, tokens)
        return cached

    def check(self, tokens: list[int], num_tokens: int) -> None:
        """So many tokens are found, and each block holds its text."""
        hit = self.kv.find_text(tokens)
        assert len(hit.keys) * SIZE == num_tokens
        for group, table in enumerate(hit.blocks):
            for index in range(hit.firsts[group], len(table)):
                (block,) = self.storage.parts[group].block_tensors(table[index])
                end = index * SIZE + 1
                sums = [sum(tokens[: end + offset]) + group / 2 for offset in range(SIZE)]
                assert block[0, 0, :, 0].tolist() == sums

    def run(self, events: list[Event]) -> list[Event]:
        while self.archive.has_work:
            events = [*events, *self.archive.step()]
            self.kv.check_integrity()
        assert not any(use.num_live for use in self.kv.uses)
        return events

    def save(self, path: Path, conversation: str = "7") -> list[Event]:
        return self.run(self.archive.save(conversation, path))

    def restore(self, path: Path, conversation: str = "7") -> list[Event]:
        return self.run(self.archive.restore(conversation, path))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_module, "PIECE_BYTES", 2_000)  # a few blocks a piece
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=1 << 40))


@pytest.mark.parametrize("has_full", [True, False])
def test_the_next_run_goes_on_behind_the_window(tmp_path: Path, has_full: bool) -> None:
    path = tmp_path / "7.kv"
    engine = Engine(has_full=has_full)
    engine.compute(TOKENS)
    assert engine.save(path) == [CacheSaved("7", 48, 48)]
    after = Engine(has_full=has_full)
    assert after.restore(path) == [CacheRestored("7", 48)]
    after.check(TOKENS, 48)
    window = after.kv.uses[-1]
    assert (window.window, window.num_cached) == (WINDOW, 2)  # what the query behind it sees
    assert after.compute([*TOKENS, 99]) == 48


def test_each_turn_adds_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "7.kv"
    engine = Engine()
    engine.compute(TOKENS)
    engine.save(path)
    longer = [*TOKENS, *range(60, 90)]
    engine.compute(longer)
    assert engine.save(path) == [CacheSaved("7", 80, 32)]
    assert engine.save(path) == [CacheSaved("7", 80, 0)]
    after = Engine()
    assert after.restore(path) == [CacheRestored("7", 80)]
    after.check(longer, 80)


def test_an_edit_writes_the_window_behind_it_anew(tmp_path: Path) -> None:
    path = tmp_path / "7.kv"
    engine = Engine()
    engine.compute(TOKENS)
    engine.save(path)
    edited = [*TOKENS[:26], 77, 78, 79]
    engine.compute(edited)
    (saved,) = engine.save(path)
    assert isinstance(saved, CacheSaved)
    assert saved.num_tokens == 28
    assert 0 < saved.num_written < 28
    after = Engine()
    assert after.restore(path) == [CacheRestored("7", 28)]
    after.check(edited, 28)
    # and back again to the longer text, of which the file's end is gone
    engine.compute(TOKENS)
    assert engine.save(path) == [CacheSaved("7", 48, 24)]
    again = Engine()
    assert again.restore(path) == [CacheRestored("7", 48)]
    again.check(TOKENS, 48)


def test_a_text_whose_window_is_gone_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "7.kv"
    engine = Engine()
    engine.compute(TOKENS)
    engine.kv.groups[1].reclaim(100)
    assert engine.save(path) == [CacheSaved("7", 0, 0)]
    assert Engine().restore(path) == [CacheRestored("7", 0)]


def test_what_does_not_fit_is_left(tmp_path: Path) -> None:
    path = tmp_path / "7.kv"
    engine = Engine()
    engine.compute(TOKENS)
    engine.save(path)
    small = Engine(full=8)
    assert small.restore(path) == [CacheRestored("7", 0)]  # the window is that of the whole text
    assert small.compute(list(range(100, 130))) == 0


def test_a_damaged_window_is_not_gone_on_behind(tmp_path: Path, logfail: LogFail) -> None:
    logfail.expect("record 11 is damaged")
    path = tmp_path / "7.kv"
    engine = Engine()
    engine.compute(TOKENS)
    engine.save(path)
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    path.write_bytes(data)
    after = Engine()
    assert after.restore(path) == [CacheRestored("7", 0)]
    assert after.compute(TOKENS) == 0


def test_contents_tell_which_groups_are_there() -> None:
    engine = Engine()
    contents = BlockContents(engine.storage.parts, has_windows=True)
    sizes = [SIZE * 2 * 8 * 4 * layers for layers in (1, 2)]
    assert contents.nbytes == 1 + sum(sizes)
    (source,) = engine.storage.parts[0].block_tensors(3)
    source[:] = 5.0
    data = contents.pack([3, None])
    assert data[0] == 1
    assert not any(data[1 + sizes[0] :])
    contents.unpack(0, data, 6)
    (target,) = engine.storage.parts[0].block_tensors(6)
    assert torch.equal(source, target)
    plain = BlockContents(engine.storage.parts[:1], has_windows=False)
    assert plain.pack([3]) == data[1 : 1 + sizes[0]]
    assert NULL == 0
