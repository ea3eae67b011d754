"""A whole model in a few kilobytes: random weights in full precision, a byte-level vocabulary."""

from pathlib import Path
from typing import Any

from tests.helpers.gguf_files import ARRAY, STRING, llama_metadata, llama_parameters, write_llama


def tiny_metadata(**changes: tuple[int, Any] | None) -> dict[str, tuple[int, Any]]:
    """The header of a Llama whose 128 tokens are the visible ASCII characters and a few more."""
    pieces = ["<unk>", "<s>", "</s>", *(chr(33 + i) for i in range(94)), "ab"]
    pieces += [f"<extra_{i}>" for i in range(128 - len(pieces))]
    kinds = [3, 3, 3, *([1] * 95), *([5] * 30)]
    metadata = llama_metadata(**changes)
    metadata["tokenizer.ggml.model"] = (STRING, "gpt2")
    metadata["tokenizer.ggml.pre"] = (STRING, "smollm")
    metadata["tokenizer.ggml.tokens"] = (ARRAY, (STRING, pieces))
    metadata["tokenizer.ggml.token_type"] = (ARRAY, (5, kinds))
    metadata["tokenizer.ggml.merges"] = (ARRAY, (STRING, ["a b"]))
    return metadata


def write_tiny_model(path: Path, seed: int = 0) -> Path:
    """A Llama of two layers."""
    return write_llama(path, llama_parameters(seed), tiny_metadata())
