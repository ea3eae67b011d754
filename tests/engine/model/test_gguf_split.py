"""Models in several GGUF files."""

import pytest
import torch

from engine.errors import ModelCorruptError, ModelMissingError
from engine.model.gguf import GgufFile
from engine.model.gguf_source import GgufSource
from engine.model.gguf_split import open_gguf
from tests.helpers.gguf_files import gguf_bytes, interleaved, llama_metadata, llama_parameters

NAMES = [f"tiny-0000{number}-of-00003.gguf" for number in (1, 2, 3)]


def write_parts(folder, **changes):
    """Three files; ``changes`` are keys of the last one."""
    tensors = []
    for name, values in llama_parameters().items():
        rows = interleaved(values, 16) if name.split(".")[-2] in {"attn_q", "attn_k"} else values
        dims = tuple(reversed(rows.shape))
        tensors.append((name, dims, 0, rows.contiguous().numpy().tobytes()))
    for number, name in enumerate(NAMES):
        metadata = llama_metadata() if number == 0 else {}
        metadata |= {"split.no": (2, number), "split.count": (2, 3)}
        metadata["split.tensors.count"] = (5, len(tensors))
        if number == 2:
            metadata |= changes
        (folder / name).write_bytes(gguf_bytes(metadata, tensors[number::3]))
    return [folder / name for name in NAMES]


@pytest.mark.parametrize("chosen", range(3))
def test_any_part_opens_the_whole(tmp_path, chosen):
    paths = write_parts(tmp_path)
    source = GgufSource.open(paths[chosen])
    parameters = llama_parameters()
    assert source.file_bytes == sum(path.stat().st_size for path in paths)
    for name, stored in (
        ("embed", "token_embd.weight"),
        ("layers.0.q", "blk.0.attn_q.weight"),
        ("layers.1.down", "blk.1.ffn_down.weight"),
    ):
        assert torch.equal(source.weight(name).dequantize(), parameters[stored])
    source.close()


@pytest.mark.parametrize("gone", range(3))
def test_a_missing_part_is_named(tmp_path, gone):
    paths = write_parts(tmp_path)
    paths[gone].unlink()
    with pytest.raises(ModelMissingError, match=NAMES[gone]):
        open_gguf(paths[gone - 1])


def test_nothing_there(tmp_path):
    with pytest.raises(ModelMissingError, match="no model"):
        open_gguf(tmp_path / NAMES[1])


@pytest.mark.parametrize(
    "changes",
    [{"split.no": (2, 1)}, {"split.count": (2, 4)}, {"split.count": (8, "3")}],
    ids=str,
)
def test_parts_of_another_model(tmp_path, changes):
    paths = write_parts(tmp_path, **changes)
    with pytest.raises(ModelCorruptError):
        open_gguf(paths[0])
    paths[2].unlink()  # let go of by then, also where that matters


def test_a_tensor_twice(tmp_path):
    paths = write_parts(tmp_path)
    with GgufFile.open(paths[1]) as file:
        held = [
            (n, tuple(reversed(t.shape)), 0, bytes(file.raw(n))) for n, t in file.tensors.items()
        ]
    metadata = {"split.no": (2, 2), "split.count": (2, 3)}
    paths[2].write_bytes(gguf_bytes(metadata, held))
    with pytest.raises(ModelCorruptError, match="two of its files"):
        open_gguf(paths[0])


def test_too_few_tensors(tmp_path):
    paths = write_parts(tmp_path)
    paths[2].write_bytes(gguf_bytes({"split.no": (2, 2), "split.count": (2, 3)}))
    with pytest.raises(ModelCorruptError, match="tensors"):
        open_gguf(paths[0])


def test_a_renamed_part(tmp_path):
    path = write_parts(tmp_path)[1].rename(tmp_path / "part.gguf")
    with pytest.raises(ModelMissingError, match="one of 3 files"):
        open_gguf(path)
