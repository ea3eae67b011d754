"""Vocabularies small enough to read, as GGUF metadata."""

from typing import Any

from engine.text.tokenizer import Tokenizer, tokenizer_from_gguf

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def byte_alphabet() -> list[str]:
    """The printable character of each byte, in byte order, as byte-level vocabularies spell it."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    spelled = {byte: chr(byte) for byte in printable}
    others = (byte for byte in range(256) if byte not in spelled)
    spelled.update({byte: chr(0x100 + index) for index, byte in enumerate(others)})
    return [spelled[byte] for byte in range(256)]


def byte_level_metadata(**changes: Any) -> dict[str, Any]:
    """All 256 bytes, a few merges, two control tokens and one user-defined token."""
    pieces = [*byte_alphabet(), "he", "ll", "hell", "hello", "Ġw", "<|im_start|>", "<|im_end|>"]
    kinds = [NORMAL] * 261 + [CONTROL] * 2
    pieces.append("<think>")
    kinds.append(USER_DEFINED)
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": ["h e", "l l", "he ll", "hell o", "Ġ w"],
        "tokenizer.ggml.bos_token_id": 261,
        "tokenizer.ggml.eos_token_id": 262,
    }
    return _changed(metadata, changes)


def sentencepiece_metadata(**changes: Any) -> dict[str, Any]:
    """Byte fallback, and the pieces of "▁hello" with scores."""
    special = ["<unk>", "<s>", "</s>"]
    byte_pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    words = ["▁", "h", "e", "l", "o", "▁h", "he", "ll", "hell", "hello", "▁hello", "é"]
    metadata = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [*special, *byte_pieces, *words],
        "tokenizer.ggml.token_type": [UNKNOWN, CONTROL, CONTROL]
        + [BYTE] * 256
        + [NORMAL] * len(words),
        "tokenizer.ggml.scores": [0.0] * 259
        + [-100.0, -101.0, -102.0, -103.0, -104.0, -5.0, -4.0, -3.0, -2.0, -1.0, -0.5, -105.0],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }
    return _changed(metadata, changes)


def byte_level_tokenizer(**changes: Any) -> Tokenizer:
    """The tokenizer of ``byte_level_metadata``."""
    return tokenizer_from_gguf(byte_level_metadata(**changes))


def sentencepiece_tokenizer(**changes: Any) -> Tokenizer:
    """The tokenizer of ``sentencepiece_metadata``."""
    return tokenizer_from_gguf(sentencepiece_metadata(**changes))


def _changed(metadata: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """``changes`` by the last part of a key; None takes the key away."""
    for name, value in changes.items():
        key = f"tokenizer.ggml.{name}"
        if value is None:
            metadata.pop(key, None)
        else:
            metadata[key] = value
    return metadata
