"""Models are found wherever they lie, once each."""

import json
import os
import sys

import pytest

from app.catalog.scan import FoundModel, Unreachable, find_models, look_at, place_of


def write(path, size=10):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def found(*folders, alone=()):
    return [m for m in find_models(folders, alone) if isinstance(m, FoundModel)]


def unreachable(*folders):
    return [m for m in find_models(folders) if isinstance(m, Unreachable)]


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
    gone = tmp_path / "unplugged"
    assert found(gone) == []
    (told,) = unreachable(gone, tmp_path)
    assert (told.path, told.is_missing) == (str(gone), True)


def test_a_file_in_place_of_a_folder_is_told(tmp_path):
    (told,) = unreachable(write(tmp_path / "x.gguf"))
    assert told.is_missing


def test_a_folder_alone_is_not_gone_into(tmp_path):
    write(tmp_path / "near.gguf")
    write(tmp_path / "below" / "far.gguf")
    assert [m.title for m in found(alone=[tmp_path])] == ["near"]
    assert {m.title for m in found(tmp_path, alone=[tmp_path])} == {"near", "far"}
    assert found(alone=[tmp_path / "gone"]) == []


def test_the_latest_change_counts(tmp_path):
    parts = [write(tmp_path / f"big-0000{n}-of-00002.gguf") for n in (1, 2)]
    for part, time in zip(parts, (200, 100), strict=True):
        os.utime(part, (time, time))
    assert found(tmp_path)[0].modified_s == 200


def test_an_ollama_store_by_its_manifests(tmp_path):
    store = tmp_path / "models"
    digest = "ab" * 32
    blob = write(store / "blobs" / f"sha256-{digest}", 7)
    write(store / "blobs" / "stray.gguf")
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
    place = store / "manifests" / "registry.ollama.ai" / "library" / "llama3.2" / "1b"
    write(place).write_text(json.dumps({"layers": [layer]}))
    (model,) = found(tmp_path)
    assert (model.title, model.path, model.num_bytes) == ("llama3.2:1b", str(blob), 7)
    assert model.is_linked  # the store's own program should remove it
    assert look_at(blob) == model
    assert look_at(store / "blobs" / "sha256-gone") is None


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
        (told,) = unreachable(locked)
        assert not told.is_missing
        assert told.reason
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
    assert place_of(one) == tmp_path
    assert place_of(folder) == folder
