"""SentencePiece model files written field by field, independently of the reader under test."""

import struct
from collections.abc import Sequence


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def blob(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def piece(text: str, score: float = 0.0, kind: int = 1) -> bytes:
    parts = blob(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score)
    return blob(1, parts + (b"" if kind == 1 else number(3, kind)))


def model(
    pieces: Sequence[tuple[str, float, int]], trainer: bytes = b"", normaliser: bytes = b""
) -> bytes:
    """Text, score and kind of each token; the fields of the trainer and of the normaliser."""
    return b"".join(piece(*p) for p in pieces) + blob(2, trainer) + blob(3, normaliser)


PIECES = [
    ("<unk>", 0.0, 2),
    ("<s>", 0.0, 3),
    ("</s>", 0.0, 3),
    *((f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)),
    ("▁", -1.0, 1),
    ("a", -2.0, 1),
    ("b", -2.5, 1),
    ("▁a", -1.5, 1),
    ("ab", -1.6, 1),
    ("▁ab", -1.2, 1),
]
