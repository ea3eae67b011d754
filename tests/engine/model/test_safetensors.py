"""The safetensors reader on sound files, and on each way a header can lie."""

import json
import struct
from pathlib import Path

import pytest
import safetensors.torch
import torch

from engine.errors import ModelCorruptError, ModelMissingError, ModelUnsupportedError
from engine.model.safetensors import SafetensorsFile, open_folder, read_json


def write(path: Path, header: object, data: bytes = b"\0" * 64) -> Path:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + data)
    return path


def entry(dtype="F32", shape=(2,), offsets=(0, 8)) -> dict[str, object]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_reads_what_the_reference_wrote(tmp_path):
    tensors = {
        "a": torch.randn(3, 5),
        "b": torch.randn(4).bfloat16(),
        "c": torch.randn(2, 2).half(),
        "d": torch.randn(0, 7),
    }
    path = tmp_path / "model.safetensors"
    safetensors.torch.save_file(tensors, path, metadata={"format": "pt"})
    file = SafetensorsFile.open(path)
    assert set(file.tensors) == set(tensors)
    for name, values in tensors.items():
        read = file.tensor(name)
        assert read.dtype == values.dtype
        assert torch.equal(read, values)
    file.close()


@pytest.mark.parametrize(
    "header",
    [
        b"not json",
        b"[1, 2]",
        b"[" * 100_000,
        b'{"a": 1, "a": 2}',
        {"a": 5},
        {"a": entry(dtype="F4")},
        {"a": entry(dtype=None)},
        {"a": entry(shape=(-1,))},
        {"a": entry(shape=(True, 2))},
        {"a": entry(shape=(2**61, 2))},
        {"a": entry(shape=(1,) * 9)},
        {"a": entry(offsets=(0, 7))},
        {"a": entry(offsets=(8, 0))},
        {"a": entry(offsets=(0, 8, 9))},
        {"a": entry(offsets=(64, 72))},
        {"a": entry(), "b": entry(offsets=(4, 12))},
    ],
)
def test_bad_headers(tmp_path, header):
    with pytest.raises(ModelCorruptError):
        SafetensorsFile.open(write(tmp_path / "model.safetensors", header))


@pytest.mark.parametrize("content", [b"", b"\1", struct.pack("<Q", 2**63), b"\xff" * 40])
def test_bad_lengths(tmp_path, content):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelCorruptError):
        SafetensorsFile.open(path)


def test_integers_are_no_weights(tmp_path):
    path = write(tmp_path / "model.safetensors", {"a": entry("I32")})
    with pytest.raises(ModelUnsupportedError, match="I32"):
        SafetensorsFile.open(path).tensor("a")


def shards(folder: Path, names: list[str]) -> None:
    table = {f"t{index}": name for index, name in enumerate(names)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": table}))


def test_shards(tmp_path):
    for index in range(2):
        values = {f"t{index}": torch.full((2,), float(index))}
        safetensors.torch.save_file(values, tmp_path / f"part{index}.safetensors")
    shards(tmp_path, ["part0.safetensors", "part1.safetensors"])
    files = open_folder(tmp_path)
    assert [list(file.tensors) for file in files] == [["t0"], ["t1"]]


@pytest.mark.parametrize("name", ["../outside.safetensors", "/etc/passwd", "weights.bin", ""])
def test_shards_stay_inside_the_folder(tmp_path, name):
    shards(tmp_path, [name])
    with pytest.raises(ModelCorruptError):
        open_folder(tmp_path)


def test_a_tensor_in_two_shards(tmp_path):
    for index in range(2):
        safetensors.torch.save_file({"t": torch.zeros(1)}, tmp_path / f"part{index}.safetensors")
    shards(tmp_path, ["part0.safetensors", "part1.safetensors"])
    with pytest.raises(ModelCorruptError, match="two files"):
        open_folder(tmp_path)


def test_a_missing_shard(tmp_path):
    shards(tmp_path, ["part0.safetensors"])
    with pytest.raises(ModelMissingError):
        open_folder(tmp_path)


def test_json_has_a_size_limit(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"a": 1}')
    assert read_json(path) == {"a": 1}
    with pytest.raises(ModelCorruptError):
        read_json(path, limit=4)
