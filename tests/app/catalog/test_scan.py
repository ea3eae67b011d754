"""Models are found wherever they lie, once each."""

import os
import sys

import pytest

from app.catalog.scan import find_models, look_at


def write(path, size=10):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def found(*folders):
    return [model for model in find_models(folders) if model is not None]


def test_files_split_files_and_folders(tmp_path):
    one = write(tmp_path / "модели 模型" / "Tiny.Q4_1.GGUF")
    parts = [write(tmp_path / "big" / f"big-0000{n}-of-00003.gguf", n) for n in (3, 1, 2)]
    folder = tmp_path / "hf" / "smol"
    write(folder / "config.json")
    shards = [write(folder / f"model-0000{n}-of-00002.safetensors") for n in (1, 2)]
    models = {model.title: model for model in found(tmp_path)}
    assert set(models) == {"Tiny.Q4_1", "big", "smol"}
    assert models["Tiny.Q4_1"].path == str(one)
    assert models["big"].path == str(parts[1])
    assert models["big"].files == tuple(sorted(map(str, parts)))
    assert models["big"].num_bytes == 6
    assert models["smol"].path == str(folder)
    assert models["smol"].is_folder
    assert models["smol"].files == tuple(map(str, shards))


def test_what_is_no_model_is_not_listed(tmp_path):
    write(tmp_path / "config.json")
    write(tmp_path / "notes.txt")
    write(tmp_path / "mmproj-model-f16.gguf")
    write(tmp_path / "Tiny.gguf.0123.part")
    write(tmp_path / "lora" / "adapter.safetensors")
    write(tmp_path / "node_modules" / "x.gguf")
    assert found(tmp_path) == []


def test_folders_inside_each_other_list_a_model_once(tmp_path):
    write(tmp_path / "a" / "b" / "x.gguf")
    assert len(found(tmp_path / "a" / "b", tmp_path, tmp_path / "a")) == 1


def test_a_folder_that_is_gone(tmp_path):
    assert found(tmp_path / "unplugged") == []


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_loops_and_links_end(tmp_path):
    real = write(tmp_path / "real" / "x.gguf")
    (tmp_path / "real" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "real" / "self").symlink_to(tmp_path / "real" / "self")
    (tmp_path / "real" / "gone.gguf").symlink_to(tmp_path / "nothing.gguf")
    (tmp_path / "again.gguf").symlink_to(real)
    assert len(found(tmp_path)) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_hub_cache(tmp_path):
    repo = tmp_path / "models--makers--tiny"
    blob = write(repo / "blobs" / "0123", 30)
    snapshot = repo / "snapshots" / "c0ffee"
    snapshot.mkdir(parents=True)
    (snapshot / "tiny.gguf").symlink_to(blob)
    config, weights = write(repo / "blobs" / "45"), write(repo / "blobs" / "67")
    (snapshot / "config.json").symlink_to(config)
    (snapshot / "model.safetensors").symlink_to(weights)
    titles = [(model.title, model.num_bytes) for model in found(tmp_path)]
    assert titles == [("makers/tiny", 10), ("tiny", 30)]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="rights do not bind here")
def test_a_folder_that_may_not_be_read(tmp_path):
    locked = tmp_path / "locked"
    write(locked / "x.gguf")
    locked.chmod(0)
    try:
        assert found(tmp_path) == []
    finally:
        locked.chmod(0o700)


def test_a_breath_for_every_folder(tmp_path):
    for name in "abc":
        (tmp_path / name).mkdir()
    assert list(find_models([tmp_path])) == [None] * 4


def test_look_at_one(tmp_path):
    one = write(tmp_path / "x.gguf")
    folder = tmp_path / "smol"
    write(folder / "config.json")
    write(folder / "model.safetensors")
    assert look_at(one).title == "x"
    assert look_at(folder).title == "smol"
    assert look_at(tmp_path) is None
    assert look_at(tmp_path / "gone.gguf") is None
