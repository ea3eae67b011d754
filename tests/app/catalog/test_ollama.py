"""Models that Ollama keeps."""

import json

import pytest

from app.catalog.ollama import is_store, stored_models

MODEL = "application/vnd.ollama.image.model"
HEX = "0123456789abcdef" * 4


def manifest(store, place, layers):
    path = store / "manifests" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
    return path


def layer(digest=HEX, kind=MODEL):
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": 4}


@pytest.fixture
def store(tmp_path):
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    (blobs / f"sha256-{HEX}").write_bytes(b"GGUF")
    (tmp_path / "manifests").mkdir()
    return tmp_path


def names(store):
    return [model.name for model in stored_models(store)]


def test_names_as_people_type_them(store):
    licence = layer("f" * 64, "application/vnd.ollama.image.license")
    for place in (
        "registry.ollama.ai/library/llama3.2/1b",
        "registry.ollama.ai/someone/their-model/latest",
        "hub.example/org/Model-GGUF/Q4_K_M",
    ):
        manifest(store, place, [layer(), licence])
    assert is_store(store)
    assert names(store) == [
        "hub.example/org/Model-GGUF:Q4_K_M",
        "llama3.2:1b",
        "someone/their-model:latest",
    ]
    model = next(stored_models(store))
    assert (model.blob, model.num_bytes) == (store / "blobs" / f"sha256-{HEX}", 4)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"layers": 5}',
        b'{"layers": [5]}',
        b'{"layers": []}',
        json.dumps({"layers": [layer("f" * 64)]}).encode(),
        json.dumps({"layers": [layer("../../x")]}).encode(),
        json.dumps({"layers": [layer(), layer()]}).encode(),
        json.dumps({"layers": [{"mediaType": MODEL, "digest": 7}]}).encode(),
        b"[" * 100_000,
    ],
    ids=lambda content: repr(content[:20]),
)
def test_a_damaged_manifest_is_passed_over(store, content):
    manifest(store, "registry.ollama.ai/library/bad/1", []).write_bytes(content)
    manifest(store, "registry.ollama.ai/library/good/1", [layer()])
    (store / "manifests" / "registry.ollama.ai" / ".DS_Store").write_bytes(b"")
    assert names(store) == ["good:1"]


def test_what_is_no_store(tmp_path):
    assert not is_store(tmp_path / "nothing")
    assert not is_store(tmp_path)
    assert names(tmp_path) == []
