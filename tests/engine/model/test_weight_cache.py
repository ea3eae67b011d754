"""Weights quantised once and read from the disk afterwards."""

import pytest
import torch

from engine.errors import LoadCancelledError
from engine.model import weight_cache
from engine.model.gguf_source import GgufSource
from engine.model.weight_cache import cache_folder, int4_source, source_key
from engine.quant.layout import GroupedInt4Weight
from tests.helpers.gguf_files import llama_parameters, write_llama

MATRICES = [f"layers.{i}.{part}" for i in (0, 1) for part in ("q", "k", "v", "o", "gate", "down")]


@pytest.fixture
def path(tmp_path):
    return write_llama(tmp_path / "tiny.gguf", llama_parameters())


def read(path, check=bool) -> tuple[dict[str, GroupedInt4Weight], bool]:
    source = GgufSource.open(path)
    with int4_source(source, path, check) as int4:
        weights = {name: int4.weight(name) for name, s in source.shapes.items() if len(s) == 2}
        is_cached = int4.is_cached
        if check is bool:
            assert int4.share_done == 1
    source.close()
    return weights, is_cached


def files():
    return sorted(cache_folder().glob("*"))


def same(one, other) -> bool:
    return all(torch.equal(one[n].dequantize(), other[n].dequantize()) for n in one)


def test_the_second_time_reads_what_the_first_wrote(path):
    first, was_cached = read(path)
    assert not was_cached
    assert [file.suffix for file in files()] == [".safetensors"]
    second, is_cached = read(path)
    assert is_cached
    assert same(first, second)
    for name in MATRICES:
        weight = second[name]
        assert isinstance(weight, GroupedInt4Weight)
        assert weight.group_size == 32
        exact = GgufSource.open(path).weight(name).dequantize()
        assert (weight.dequantize() - exact).norm() / exact.norm() < 0.1
    assert not isinstance(second["embed"], GroupedInt4Weight)


def test_another_file_is_another_key(path, tmp_path):
    key = source_key(path)
    assert source_key(path) == key
    other = write_llama(tmp_path / "other.gguf", llama_parameters(seed=1))
    assert source_key(other) != key
    path.write_bytes(path.read_bytes() + b"\0")
    assert source_key(path) != key


def test_damaged_values_are_quantised_anew(path):
    first, _ = read(path)
    (file,) = files()
    raw = bytearray(file.read_bytes())
    for at in range(len(raw) // 2, len(raw), 997):
        raw[at] ^= 0x55
    file.write_bytes(raw)
    again, is_cached = read(path)
    assert is_cached
    assert same(first, again)
    assert files() == []  # gone, so that the next load writes it anew


@pytest.mark.parametrize("keep", [0, 5, 300])
def test_a_cut_file_is_ignored(path, keep):
    first, _ = read(path)
    (file,) = files()
    file.write_bytes(file.read_bytes()[:keep])
    again, is_cached = read(path)
    assert not is_cached
    assert same(first, again)
    assert len(files()) == 1


def test_cancelling_leaves_nothing_behind(path):
    asked = 0

    def stop() -> None:
        nonlocal asked
        asked += 1
        if asked == 5:
            raise LoadCancelledError("Loading was stopped.")

    with pytest.raises(LoadCancelledError):
        read(path, stop)
    assert files() == []


def test_an_incomplete_read_is_not_kept(path):
    source = GgufSource.open(path)
    with int4_source(source, path, bool) as int4:
        int4.weight("layers.0.q")
    source.close()
    assert files() == []


def test_the_oldest_make_room(path, tmp_path, monkeypatch):
    read(path)
    (old,) = files()
    size = old.stat().st_size
    monkeypatch.setattr(weight_cache, "_LIMIT_BYTES", size + 100)
    read(write_llama(tmp_path / "other.gguf", llama_parameters(seed=1)))
    assert len(files()) == 1
    assert files() != [old]


def test_a_full_disk_costs_only_the_cache(path, monkeypatch):
    monkeypatch.setattr(weight_cache, "_KEEP_FREE_BYTES", 1 << 62)
    weights, _ = read(path)
    assert isinstance(weights["layers.0.q"], GroupedInt4Weight)
    assert files() == []


def test_a_folder_that_cannot_be_made(path, isolated_home):
    isolated_home.write_text("a file")
    weights, _ = read(path)
    assert isinstance(weights["layers.0.q"], GroupedInt4Weight)
