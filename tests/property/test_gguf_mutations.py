"""Ten thousand damaged GGUF files: each opens, or fails with a typed error, at once."""

import random
import struct

from engine.errors import ModelCorruptError, ModelUnsupportedError
from engine.model.gguf import GgufFile
from engine.model.gguf_source import GgufSource
from tests.helpers.gguf_files import (
    ARRAY,
    STRING,
    gguf_bytes,
    llama_metadata,
    llama_parameters,
    q4_1,
)

EXTREMES = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**40]
NUM_FILES = 10_000


def small_file() -> bytes:
    metadata = llama_metadata(
        words=(ARRAY, (STRING, ["a", "bc", "", "ü"])),
        numbers=(ARRAY, (6, [0.5, 1.5])),
        nested=(ARRAY, (ARRAY, [(4, [1]), (STRING, ["x"])])),
    )
    tensors = []
    for name, values in llama_parameters().items():
        dims = tuple(reversed(values.shape))
        tensors.append((name, dims, 3, q4_1(values.numpy())))  # the smallest file we can write
    return gguf_bytes(metadata, tensors)


def mutate(content: bytes, header_bytes: int, draw: random.Random) -> bytes:
    """One to three random changes, nearly all in the header."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(min(header_bytes, len(changed)) or 1)
        match draw.randrange(7):
            case 0:
                changed[at : at + 1] = bytes([draw.randrange(256)])
            case 1:
                changed[at : at + 1] = bytes([changed[at] ^ 1 << draw.randrange(8)])
            case 2:
                changed[at : at + 8] = struct.pack("<Q", draw.choice(EXTREMES))
            case 3:
                changed[at : at + 4] = struct.pack("<I", draw.choice(EXTREMES) & 0xFFFFFFFF)
            case 4:
                changed[at:at] = draw.randbytes(draw.randint(1, 16))
            case 5:
                del changed[at : at + draw.randint(1, 16)]
            case 6:
                del changed[draw.randrange(1, len(changed)) :]
    return bytes(changed)


def test_ten_thousand_damaged_files(tmp_path):
    content = small_file()
    header_bytes = content.index(b"blk.1.ffn_down.weight") + 64
    path = tmp_path / "model.gguf"
    draw = random.Random(20_260)
    outcomes = {"opened": 0, "source": 0, "refused": 0}
    for _ in range(NUM_FILES):
        path.write_bytes(mutate(content, header_bytes, draw))
        try:
            file = GgufFile.open(path)
        except (ModelCorruptError, ModelUnsupportedError):
            outcomes["refused"] += 1
            continue
        with file:
            outcomes["opened"] += 1
            for name, info in file.tensors.items():
                assert file.raw(name).size == info.nbytes
            try:
                outcomes["source"] += GgufSource(file).has("embed")
            except (ModelCorruptError, ModelUnsupportedError):
                continue
    assert min(outcomes.values()) > 100, outcomes
