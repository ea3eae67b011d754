"""Writes a GGUF file of random Q4_0 weights in the shape of a Llama, to measure speed with.

    python tests/perf/random_gguf.py 1.1b FILE.gguf

The engine and llama.cpp read it alike. What it answers means nothing: its vocabulary is the bytes
and fillers. A Q4_0 block is a half-precision scale and sixteen bytes; value i of 32 is in the low
half of byte i, value 16 + i in the high half, each minus 8.
"""

import argparse
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from tests.helpers.gguf_files import ARRAY, STRING, text, typed

_U32, _F32, _I32 = 4, 6, 5
_FP32, _Q4_0 = 0, 2  # types of tensors
_BLOCK_VALUES, _BLOCK_BYTES = 32, 18
_ALIGNMENT = 32
_STEP: Final = 0.004  # of a quant: weights of a standard deviation of 0.02
_ROWS = 1_024  # made at a time


@dataclass(frozen=True)
class Shape:
    """A Llama."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    vocab: int = 32_000
    context: int = 4_096

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads


SHAPES = {
    "tiny": Shape(2, 128, 256, 4, 2, vocab=512),
    "1.1b": Shape(22, 2_048, 5_632, 32, 4),
    "7b": Shape(32, 4_096, 11_008, 32, 32),
}


def metadata(shape: Shape, name: str) -> dict[str, tuple[int, object]]:
    """What a reader needs to know, the vocabulary included."""
    pieces, kinds = vocabulary(shape.vocab)
    return {
        "general.architecture": (STRING, "llama"),
        "general.name": (STRING, f"Random {name}"),
        "general.file_type": (_U32, 2),
        "llama.block_count": (_U32, shape.layers),
        "llama.context_length": (_U32, shape.context),
        "llama.embedding_length": (_U32, shape.hidden),
        "llama.feed_forward_length": (_U32, shape.intermediate),
        "llama.attention.head_count": (_U32, shape.heads),
        "llama.attention.head_count_kv": (_U32, shape.kv_heads),
        "llama.attention.layer_norm_rms_epsilon": (_F32, 1e-5),
        "llama.rope.freq_base": (_F32, 10_000.0),
        "llama.rope.dimension_count": (_U32, shape.head_dim),
        "llama.vocab_size": (_U32, shape.vocab),
        "tokenizer.ggml.model": (STRING, "gpt2"),
        "tokenizer.ggml.pre": (STRING, "smollm"),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, pieces)),
        "tokenizer.ggml.token_type": (ARRAY, (_I32, kinds)),
        "tokenizer.ggml.merges": (ARRAY, (STRING, ["a b"])),
        "tokenizer.ggml.bos_token_id": (_U32, 0),
        "tokenizer.ggml.eos_token_id": (_U32, 1),
    }


def vocabulary(size: int) -> tuple[list[str], list[int]]:
    """Two control tokens, the bytes as GPT-2 writes them, one merge, and fillers nobody meets."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = {byte: chr(byte) for byte in plain}
    letters |= {byte: chr(256 + place) for place, byte in enumerate(others)}
    pieces = ["<s>", "</s>", *(letters[byte] for byte in range(256)), "ab"]
    fillers = [f"<filler_{i}>" for i in range(size - len(pieces))]
    return [*pieces, *fillers], [3, 3, *[1] * 257, *[5] * len(fillers)]


def tensors(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes, rows first."""
    kv = shape.kv_heads * shape.head_dim
    yield "token_embd.weight", (shape.vocab, shape.hidden)
    for layer in range(shape.layers):
        for name, rows, columns in (
            ("attn_q", shape.hidden, shape.hidden),
            ("attn_k", kv, shape.hidden),
            ("attn_v", kv, shape.hidden),
            ("attn_output", shape.hidden, shape.hidden),
            ("ffn_gate", shape.intermediate, shape.hidden),
            ("ffn_up", shape.intermediate, shape.hidden),
            ("ffn_down", shape.hidden, shape.intermediate),
        ):
            yield f"blk.{layer}.{name}.weight", (rows, columns)
        yield f"blk.{layer}.attn_norm.weight", (shape.hidden,)
        yield f"blk.{layer}.ffn_norm.weight", (shape.hidden,)
    yield "output_norm.weight", (shape.hidden,)
    yield "output.weight", (shape.vocab, shape.hidden)


def num_bytes(dims: tuple[int, ...]) -> int:
    """Of one tensor: matrices are Q4_0, norms FP32."""
    if len(dims) == 1:
        return 4 * dims[0]
    return dims[0] * dims[1] // _BLOCK_VALUES * _BLOCK_BYTES


def write_random(path: Path, shape: Shape, name: str, seed: int = 0) -> Path:
    """Write the file, a piece at a time."""
    entries, place = [], 0
    for tensor, dims in tensors(shape):
        entries.append((tensor, dims, place))
        place += -(-num_bytes(dims) // _ALIGNMENT) * _ALIGNMENT
    values = metadata(shape, name)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(entries), len(values))
    for key, (kind, value) in values.items():
        head += text(key) + struct.pack("<I", kind) + typed(kind, value)
    for tensor, dims, start in entries:
        head += text(tensor) + struct.pack(f"<I{len(dims)}Q", len(dims), *reversed(dims))
        head += struct.pack("<IQ", _FP32 if len(dims) == 1 else _Q4_0, start)
    rng = np.random.default_rng(seed)
    with path.open("wb") as file:
        file.write(head + b"\0" * (-len(head) % _ALIGNMENT))
        for _tensor, dims, _start in entries:
            write_tensor(file, dims, rng)
            file.write(b"\0" * (-num_bytes(dims) % _ALIGNMENT))
    return path


def write_tensor(file: BinaryIO, dims: tuple[int, ...], rng: np.random.Generator) -> None:
    """Ones for a norm, else random blocks of one scale."""
    if len(dims) == 1:
        file.write(np.ones(dims[0], np.float32).tobytes())
        return
    scale = np.frombuffer(np.float16(_STEP).tobytes(), np.uint8)
    for first in range(0, dims[0], _ROWS):
        count = min(_ROWS, dims[0] - first) * dims[1] // _BLOCK_VALUES
        blocks = rng.integers(0, 256, (count, _BLOCK_BYTES), np.uint8)
        blocks[:, :2] = scale
        file.write(blocks.tobytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("path", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    write_random(options.path, SHAPES[options.shape], options.shape, options.seed)
    sys.stdout.write(f"{options.path}: {options.path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
