"""The GGUF reader on sound files, and on each way a file can be broken."""

import struct
from pathlib import Path

import gguf
import numpy as np
import pytest

from engine.errors import ModelCorruptError, ModelMissingError, ModelUnsupportedError
from engine.model.gguf import GgufFile
from engine.quant.ggml_types import GgmlType
from tests.helpers.gguf_files import ARRAY, STRING, gguf_bytes, text

METADATA = {
    "general.architecture": (STRING, "llama"),
    "a.u8": (0, 200),
    "a.i8": (1, -3),
    "a.f32": (6, 1.5),
    "a.flag": (7, 1),
    "a.i64": (11, -(2**60)),
    "a.f64": (12, 0.1),
    "a.words": (ARRAY, (STRING, ["", "héllo", "🙂"])),
    "a.numbers": (ARRAY, (5, [-1, 0, 7])),
    "a.nested": (ARRAY, (ARRAY, [(4, [1]), (4, [2, 3])])),
}
VALUES = np.arange(6, dtype=np.float32)
TENSORS = [
    ("one", (3, 2), 0, VALUES.tobytes()),
    ("two", (32,), 8, bytes(range(34))),
]


def write(tmp_path: Path, content: bytes, name: str = "model.gguf") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    return write(tmp_path, gguf_bytes(METADATA, TENSORS))


def refusal(path: Path, kind=ModelCorruptError) -> str:
    with pytest.raises(kind) as caught:
        GgufFile.open(path)
    return str(caught.value)


def test_metadata_and_tensors(sound):
    with GgufFile.open(sound) as file:
        assert file.metadata["a.u8"] == 200
        assert file.metadata["a.i8"] == -3
        assert file.metadata["a.f32"] == 1.5
        assert file.metadata["a.flag"] is True
        assert file.metadata["a.i64"] == -(2**60)
        assert file.metadata["a.f64"] == 0.1
        assert file.metadata["a.words"] == ["", "héllo", "🙂"]
        assert file.metadata["a.numbers"].tolist() == [-1, 0, 7]
        assert [part.tolist() for part in file.metadata["a.nested"]] == [[1], [2, 3]]
        assert file.tensors["one"].shape == (2, 3)
        assert file.tensors["two"].type is GgmlType.Q8_0
        assert file.raw("one").view(np.float32).tolist() == VALUES.tolist()
        assert file.raw("two").tolist() == list(range(34))
        assert file.file_bytes == sound.stat().st_size


def test_views_outlive_close(sound):
    file = GgufFile.open(sound)
    view = file.raw("two")
    file.close()
    assert view.tolist() == list(range(34))


def test_version_2(tmp_path):
    with GgufFile.open(write(tmp_path, gguf_bytes(METADATA, TENSORS, version=2))) as file:
        assert set(file.tensors) == {"one", "two"}


@pytest.mark.parametrize("alignment", [8, 64, 4096])
def test_alignment(tmp_path, alignment):
    metadata = {**METADATA, "general.alignment": (4, alignment)}
    path = write(tmp_path, gguf_bytes(metadata, TENSORS, alignment=alignment))
    with GgufFile.open(path) as file:
        assert file.raw("two").tolist() == list(range(34))


@pytest.mark.parametrize("alignment", [(4, 0), (4, 24), (4, 1 << 30), (STRING, "32")])
def test_bad_alignment(tmp_path, alignment):
    path = write(tmp_path, gguf_bytes({"general.alignment": alignment}))
    assert "general.alignment" in refusal(path)


def test_missing_file(tmp_path):
    assert "no model" in refusal(tmp_path / "nowhere.gguf", ModelMissingError)


def test_directory(tmp_path):
    refusal(tmp_path, ModelMissingError)


def test_nul_in_the_path():
    refusal(Path("a\0b"), ModelCorruptError)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"GG", "GGUF"),
        (b"GGUF", "version"),
        (b"GGUF\3\0\0\0", "tensors"),
        (b"<!doctype html><html>", "GGUF"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "LFS"),
    ],
)
def test_not_a_model(tmp_path, content, reason):
    assert reason in refusal(write(tmp_path, content))


def test_every_truncation_is_refused(tmp_path):
    whole = gguf_bytes(METADATA, [TENSORS[0]])
    last = len(whole) - (-len(TENSORS[0][3]) % 32)  # the padding behind the data may be cut
    for length in range(last):
        refusal(write(tmp_path, whole[:length]))


@pytest.mark.parametrize("version", [0, 1, 4, 0x03000000])
def test_other_versions(tmp_path, version):
    message = refusal(write(tmp_path, gguf_bytes({}, version=version)), ModelUnsupportedError)
    assert ("big-endian" in message) == (version == 0x03000000)


@pytest.mark.parametrize("count", [1, 2**32, 2**63, 2**64 - 1])
@pytest.mark.parametrize("field", [8, 16])
def test_impossible_counts(tmp_path, field, count):
    content = bytearray(gguf_bytes({}))
    content[field : field + 8] = struct.pack("<Q", count)
    refusal(write(tmp_path, bytes(content)))


def with_value(kind: int, raw: bytes) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("key") + struct.pack("<I", kind)
    return head + raw + b"\0" * 64


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (99, b""),
        (STRING, struct.pack("<Q", 2**63)),
        (STRING, struct.pack("<Q", 2) + b"\xff\xfe"),
        (ARRAY, struct.pack("<IQ", 99, 1)),
        (ARRAY, struct.pack("<IQ", STRING, 2**60)),
        (ARRAY, struct.pack("<IQ", 12, 2**61)),
        (ARRAY, struct.pack("<IQ", ARRAY, 2**61)),
        (ARRAY, struct.pack("<IQQ", STRING, 1, 2**64 - 1)),
        (ARRAY, struct.pack("<IQ", ARRAY, 1) * 5 + struct.pack("<IQ", 4, 0)),
    ],
    ids=["type", "long", "utf8", "item", "strings", "numbers", "arrays", "item-long", "nesting"],
)
def test_bad_values(tmp_path, kind, raw):
    assert "key" in refusal(write(tmp_path, with_value(kind, raw)))


def test_duplicate_key(tmp_path):
    pair = text("key") + struct.pack("<IB", 0, 1)
    content = b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + pair * 2
    assert "twice" in refusal(write(tmp_path, content))


@pytest.mark.parametrize(
    ("tensors", "reason"),
    [
        ([TENSORS[0], TENSORS[0]], "twice"),
        ([("t", (), 0, b"\0" * 4)], "dimensions"),
        ([("t", (1,) * 5, 0, b"\0" * 4)], "dimensions"),
        ([("t", (0,), 0, b"")], "shape"),
        ([("t", (2**32, 2**31), 0, b"\0" * 4)], "shape"),
        ([("t", (2**63,), 0, b"\0" * 4)], "shape"),
        ([("t", (33,), 8, b"\0" * 40)], "blocks"),
        ([("t", (1000,), 0, b"\0" * 4)], "past the end"),
        ([("t" * 2000, (1,), 0, b"\0" * 4)], "name"),
    ],
)
def test_bad_tensors(tmp_path, tensors, reason):
    assert reason in refusal(write(tmp_path, gguf_bytes({}, tensors)))


@pytest.mark.parametrize(
    ("offset", "reason"), [(0, "overlaps"), (4, "aligned"), (2**40, "past"), (2**64 - 32, "past")]
)
def test_bad_offsets(tmp_path, offset, reason):
    content = gguf_bytes({}, TENSORS)
    place = content.index(struct.pack("<IQ", 8, 32)) + 4  # the second tensor's type and offset
    content = content[:place] + struct.pack("<Q", offset) + content[place + 8 :]
    assert reason in refusal(write(tmp_path, content))


def test_unknown_tensor_type(tmp_path):
    content = gguf_bytes({}, [("t", (32,), 77, b"\0" * 32)])
    assert "77" in refusal(write(tmp_path, content), ModelUnsupportedError)


def test_messages_show_names_safely(tmp_path):
    tensors = [("evil\x1b[31m\n" + "x" * 500, (1000,), 0, b"\0" * 4)]
    message = refusal(write(tmp_path, gguf_bytes({}, tensors)))
    assert message.isprintable()
    assert len(message) < 300


def test_agrees_with_the_reference_writer(tmp_path):
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(3)
    writer.add_array("tokenizer.ggml.tokens", ["a", "ü"])
    writer.add_tensor("t", np.ones((4, 8), np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with GgufFile.open(path) as file:
        assert file.metadata["llama.block_count"] == 3
        assert file.metadata["tokenizer.ggml.tokens"] == ["a", "ü"]
        assert file.tensors["t"].shape == (4, 8)
        assert file.raw("t").view(np.float16).tolist() == [1.0] * 32
