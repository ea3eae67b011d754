"""Caches that outlive the model: kept, restored, ignored when they do not fit."""

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from engine.api import CacheRestored, CacheSaved, Event
from engine.kv import archive as archive_module
from engine.kv.archive import CacheArchive
from engine.kv.manager import KVManager
from engine.kv.reuse import CacheIdentity, ReuseHistory
from tests.helpers.logfail import LogFail

SIZE = 4
TOKENS = list(range(22))  # five full blocks


class Blocks:
    """A storage of two tensors a block, of different types."""

    def __init__(self, num_blocks: int) -> None:
        self.values = torch.zeros(num_blocks, 3, dtype=torch.bfloat16)
        self.codes = torch.zeros(2, num_blocks, dtype=torch.uint8)

    def block_tensors(self, block: int) -> tuple[torch.Tensor, ...]:
        return self.values[block], self.codes[:, block]


class Engine:
    """One run of the app: a cache, what was computed, and the archive."""

    def __init__(self, identity: CacheIdentity, num_blocks: int = 12) -> None:
        self.kv = KVManager(
            num_blocks=num_blocks, block_size=SIZE, prefix_cache=True, copies_tails=True
        )
        self.storage = Blocks(num_blocks)
        self.history = ReuseHistory()
        self.identity = identity
        self.archive = CacheArchive(self.kv, self.storage, self.history, identity)

    def compute(self, conversation: str, tokens: list[int]) -> int:
        """Answer ``tokens``; block i of a text holds what its tokens say."""
        cached = self.kv.allocate("request", tokens)
        blocks = self.kv.append("request", len(tokens))
        assert blocks is not None
        for index, block in enumerate(blocks):
            self.storage.values[block] = sum(tokens[: (index + 1) * SIZE])
            self.storage.codes[:, block] = tokens[index * SIZE] % 256
        self.kv.commit("request", tokens, len(tokens))
        self.kv.free("request")
        self.history.note(conversation, self.identity, tokens)
        return cached

    def read(self, tokens: list[int]) -> list[tuple[float, int]]:
        return [
            (float(self.storage.values[b, 0]), int(self.storage.codes[1, b]))
            for b in self.kv.find_blocks(tokens)
        ]

    def run(self, events: list[Event]) -> list[Event]:
        while self.archive.has_work:
            events = [*events, *self.archive.step()]
            self.kv.check_integrity()
        assert self.kv.num_live_blocks == 0
        return events

    def save(self, conversation: str, path: Path) -> list[Event]:
        return self.run(self.archive.save(conversation, path))

    def restore(self, conversation: str, path: Path) -> list[Event]:
        return self.run(self.archive.restore(conversation, path))


def _engine(precision: str = "int4", load: int = 1, **more: int) -> Engine:
    return Engine(CacheIdentity("model", precision, load), **more)


@pytest.fixture(autouse=True)
def roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_module, "PIECE_BYTES", 10)  # two blocks a piece
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=1 << 40))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "kv" / "7.kv"
    engine = _engine()
    engine.compute("7", TOKENS)
    assert engine.save("7", path) == [CacheSaved("7", 20, 20)]
    return path


def test_the_next_run_computes_only_what_is_new(path: Path) -> None:
    before = _engine()
    before.compute("7", TOKENS)
    after = _engine(load=2)
    assert after.restore("7", path) == [CacheRestored("7", 20)]
    assert after.read(TOKENS) == before.read(TOKENS)
    assert after.history.tokens("7", after.identity) == TOKENS[:20]
    assert after.compute("7", [*TOKENS, 99]) == 20


def test_a_later_turn_adds_to_the_file_and_an_edit_replaces_its_end(path: Path) -> None:
    engine = _engine()
    longer = [*TOKENS, *range(50, 60)]
    engine.compute("7", longer)
    assert engine.save("7", path) == [CacheSaved("7", 32, 12)]
    assert engine.save("7", path) == [CacheSaved("7", 32, 0)]
    edited = [*TOKENS[:9], 77, *TOKENS[10:16]]
    engine.compute("7", edited)
    assert engine.save("7", path) == [CacheSaved("7", 16, 8)]
    after = _engine()
    assert after.restore("7", path) == [CacheRestored("7", 16)]
    assert after.read(edited) == engine.read(edited)


def test_what_was_evicted_since_stays_in_the_file(path: Path) -> None:
    engine = _engine(num_blocks=6)
    engine.compute("7", TOKENS)
    engine.compute("other", list(range(100, 112)))
    engine.save("7", path)
    assert _engine().restore("7", path) == [CacheRestored("7", 20)]


def test_what_is_cached_already_is_not_read_again(path: Path) -> None:
    engine = _engine()
    engine.compute("other", TOKENS[:12])
    assert engine.restore("7", path) == [CacheRestored("7", 20)]
    assert engine.restore("7", path) == [CacheRestored("7", 0)]


@pytest.mark.parametrize("precision", ["int8"])
def test_another_model_s_file_is_ignored_with_a_line(
    path: Path, precision: str, logfail: LogFail
) -> None:
    logfail.expect("The kept cache 7.kv was not used: it was made with another precision")
    assert _engine(precision).restore("7", path) == [CacheRestored("7", 0)]


def test_a_damaged_file_serves_up_to_the_damage(path: Path, logfail: LogFail) -> None:
    logfail.expect("record 2 is damaged")
    data = bytearray(path.read_bytes())
    data[-2 * (16 + 8 + 16) - 20] ^= 1
    path.write_bytes(data)
    engine = _engine()
    assert engine.restore("7", path) == [CacheRestored("7", 8)]
    assert engine.compute("7", TOKENS) == 8


def test_a_missing_file_is_no_news(tmp_path: Path) -> None:
    assert _engine().restore("7", tmp_path / "none.kv") == [CacheRestored("7", 0)]


def test_a_full_cache_takes_what_fits_and_live_blocks_stay(path: Path) -> None:
    engine = _engine(num_blocks=7)
    engine.kv.allocate("live", [200] * 12)
    engine.kv.append("live", 12)
    events = engine.archive.restore("7", path)
    while engine.archive.has_work:
        events += engine.archive.step()
    assert events == [CacheRestored("7", 16)]
    assert engine.kv.num_live_blocks == 3


def test_a_file_deleted_while_it_is_written_does_not_come_back(path: Path) -> None:
    engine = _engine(num_blocks=20)
    engine.compute("7", [*TOKENS, *range(50, 80)])
    engine.archive.save("7", path)
    engine.archive.step()
    path.unlink()
    assert len(engine.run([])) == 1
    assert not path.exists()


def test_nothing_to_keep_no_room_and_a_model_that_goes(
    path: Path, monkeypatch: pytest.MonkeyPatch, logfail: LogFail
) -> None:
    engine = _engine()
    assert engine.save("7", path) == [CacheSaved("7", 0, 0)]
    engine.compute("7", TOKENS)
    engine.archive.save("7", path)
    engine.archive.restore("8", path)
    assert engine.archive.abandon() == [CacheSaved("7", 0, 0), CacheRestored("8", 0)]
    assert not engine.archive.has_work
    logfail.expect("Not enough room")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=100))
    assert engine.save("7", path) == [CacheSaved("7", 0, 0)]


def test_a_folder_that_cannot_be_written_is_a_line_in_the_log(
    tmp_path: Path, logfail: LogFail
) -> None:
    logfail.expect("was not used")
    (tmp_path / "file").write_text("")
    engine = _engine()
    engine.compute("7", TOKENS)
    assert engine.save("7", tmp_path / "file" / "7.kv") == [CacheSaved("7", 0, 0)]


def test_a_restore_that_is_wanted_now_is_finished(path: Path) -> None:
    engine = _engine()
    engine.archive.restore("7", path)
    assert engine.archive.finish("another") == []
    assert engine.archive.finish("7") == [CacheRestored("7", 20)]


def test_keys_that_were_rotated_for_another_context_are_not_used(
    tmp_path: Path, logfail: LogFail
) -> None:
    path = tmp_path / "chat.kv"
    short = CacheIdentity("model", "int4", 1, "rope: short factors")
    first = Engine(short)
    first.compute("chat", TOKENS)
    first.save("chat", path)
    logfail.expect("was not used")
    other = Engine(replace(short, load=2, rope="rope: long factors"))
    assert other.restore("chat", path) == [CacheRestored("chat", 0)]
    assert Engine(replace(short, load=3)).restore("chat", path) == [CacheRestored("chat", 20)]
