"""Small GGUF files written byte by byte, independently of the reader under test."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

STRING, ARRAY = 8, 9
_NUMBERS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<B",
    10: "<Q",
    11: "<q",
    12: "<d",
}


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def typed(kind: int, value: Any) -> bytes:
    """A value without its type number; an array's value is (item kind, items)."""
    if kind == STRING:
        return text(value)
    if kind == ARRAY:
        item, items = value
        return struct.pack("<IQ", item, len(items)) + b"".join(typed(item, v) for v in items)
    return struct.pack(_NUMBERS[kind], value)


def gguf_bytes(
    metadata: Mapping[str, tuple[int, Any]],
    tensors: Sequence[tuple[str, Sequence[int], int, bytes]] = (),
    version: int = 3,
    alignment: int = 32,
) -> bytes:
    """A whole file. A tensor is (name, dims innermost first, type number, its bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, (kind, value) in metadata.items():
        head += text(key) + struct.pack("<I", kind) + typed(kind, value)
    data = b""
    for name, dims, number, raw in tensors:
        head += text(name) + struct.pack(f"<I{len(dims)}Q", len(dims), *dims)
        head += struct.pack("<IQ", number, len(data))
        data += raw + b"\0" * (-len(raw) % alignment)
    return head + b"\0" * (-len(head) % alignment) + data


def q4_1(values: np.ndarray) -> bytes:
    """Rows of float32 as Q4_1 blocks, plain minimum and range."""
    groups = values.reshape(-1, 32)
    low = groups.min(axis=1, keepdims=True)
    step = np.maximum((groups.max(axis=1, keepdims=True) - low) / 15, 1e-8)
    quants = np.clip(np.round((groups - low) / step), 0, 15).astype(np.uint8)
    packed = quants[:, :16] | quants[:, 16:] << 4
    halves = np.concatenate([step, low], axis=1).astype(np.float16).view(np.uint8)
    return np.concatenate([halves, packed], axis=1).tobytes()


def interleaved(rows: torch.Tensor, head_dim: int) -> torch.Tensor:
    """Rows in half-split rotary order -> the order of Llama GGUF files."""
    heads = rows.view(-1, 2, head_dim // 2, *rows.shape[1:])
    return heads.transpose(1, 2).reshape(rows.shape)


def llama_metadata(**changes: tuple[int, Any] | None) -> dict[str, tuple[int, Any]]:
    """Two layers, hidden 64, four heads of 16, two key-value heads; None removes a key."""
    values: dict[str, tuple[int, Any] | None] = {
        "general.architecture": (STRING, "llama"),
        "general.name": (STRING, "Tiny"),
        "general.license": (STRING, "apache-2.0"),
        "llama.block_count": (4, 2),
        "llama.context_length": (4, 256),
        "llama.embedding_length": (4, 64),
        "llama.feed_forward_length": (4, 96),
        "llama.attention.head_count": (4, 4),
        "llama.attention.head_count_kv": (4, 2),
        "llama.attention.layer_norm_rms_epsilon": (6, 1e-5),
        "llama.rope.freq_base": (6, 10_000.0),
        "llama.rope.dimension_count": (4, 16),
        "llama.vocab_size": (4, 128),
        "tokenizer.ggml.bos_token_id": (4, 1),
        "tokenizer.ggml.eos_token_id": (4, 2),
    }
    values.update({key.replace("__", "."): value for key, value in changes.items()})
    return {key: value for key, value in values.items() if value is not None}


def llama_parameters(seed: int = 0) -> dict[str, torch.Tensor]:
    """Random parameters of that model, by tensor name in the file, in half-split rotary order."""
    draw = torch.Generator().manual_seed(seed)
    layer = {
        "attn_norm.weight": (64,),
        "attn_q.weight": (64, 64),
        "attn_k.weight": (32, 64),
        "attn_v.weight": (32, 64),
        "attn_output.weight": (64, 64),
        "ffn_norm.weight": (64,),
        "ffn_gate.weight": (96, 64),
        "ffn_up.weight": (96, 64),
        "ffn_down.weight": (64, 96),
    }
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (128, 64)}
    shapes["output_norm.weight"] = (64,)
    for index in range(2):
        shapes.update({f"blk.{index}.{name}": shape for name, shape in layer.items()})
    return {name: torch.randn(shape, generator=draw) * 0.2 for name, shape in shapes.items()}


def write_llama(
    path: Path,
    parameters: Mapping[str, torch.Tensor],
    metadata: Mapping[str, tuple[int, Any]] | None = None,
    *,
    four_bit: bool = False,
) -> Path:
    """Write a tiny Llama: float32, or its layers' matrices as Q4_1."""
    tensors = []
    for name, values in parameters.items():
        rows = interleaved(values, 16) if name.split(".")[-2] in {"attn_q", "attn_k"} else values
        array = rows.contiguous().numpy()
        dims = tuple(reversed(array.shape))
        if four_bit and name.startswith("blk.") and array.ndim == 2:
            tensors.append((name, dims, 3, q4_1(array)))
        else:
            tensors.append((name, dims, 0, array.tobytes()))
    path.write_bytes(gguf_bytes(metadata or llama_metadata(), tensors))
    return path
