"""The vocabulary in a SentencePiece model file (``tokenizer.model``).

The file is a protocol buffer message of numbered fields::

    1  piece      1 text   2 score (float)   3 kind
    2  trainer    3 algorithm   24 a space ends a word   40, 41, 42  ids of unknown, BOS and EOS
    3  normaliser 2 map of characters   3 a space goes first   4 spaces are merged   5 and shown

Every length is checked before it is used. The outcome has the keys of a GGUF header, which holds
the same things: from there on, both are read alike.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.errors import ModelUnsupportedError
from engine.text.vocabulary import MAX_VOCAB_SIZE, Kind, corrupt_tokenizer

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MODELS: Final = {1: "t5", 2: "llama"}  # unigram and byte-pair encoding, as GGUF names them
_ALGORITHMS: Final = {3: "words", 4: "characters"}
_Field = tuple[int, int | bytes]


class _BadMessageError(Exception):
    """The file is no such message; the text is the reason."""


def read_sentencepiece(data: bytes, path: str) -> dict[str, Any]:
    """Pieces, kinds, scores and roles under the keys of a GGUF header.

    Raises ModelCorruptError (no such file) or ModelUnsupportedError (an algorithm other than
    byte-pair encoding and unigram, or spaces that are not shown before words).
    """
    try:
        pieces, trainer, normaliser = _read_model(data)
        charsmap = list(_message(normaliser.get(2, b"")))
    except _BadMessageError as error:
        raise corrupt_tokenizer(str(error), path) from error
    algorithm = trainer.get(3, 1)
    model = _MODELS.get(algorithm) if isinstance(algorithm, int) else None
    if model is None:
        kind = _ALGORITHMS.get(algorithm, "another kind") if isinstance(algorithm, int) else ""
        raise _unsupported(f"a SentencePiece model of {kind}", path)
    if trainer.get(24, 0) or not normaliser.get(5, 1):
        raise _unsupported("a SentencePiece model without a mark before words", path)
    return {
        "tokenizer.ggml.model": model,
        "tokenizer.ggml.tokens": [text for text, _score, _kind in pieces],
        "tokenizer.ggml.scores": [score for _text, score, _kind in pieces],
        "tokenizer.ggml.token_type": [kind for _text, _score, kind in pieces],
        "tokenizer.ggml.unknown_token_id": _id(trainer, 40, 0),
        "tokenizer.ggml.bos_token_id": _id(trainer, 41, 1),
        "tokenizer.ggml.eos_token_id": _id(trainer, 42, 2),
        "tokenizer.ggml.precompiled_charsmap": charsmap,
        "tokenizer.ggml.add_space_prefix": bool(normaliser.get(3, 1)),
        "tokenizer.ggml.remove_extra_whitespaces": bool(normaliser.get(4, 1)),
    }


def _read_model(
    data: bytes,
) -> tuple[list[tuple[str, float, int]], Mapping[int, int | bytes], Mapping[int, int | bytes]]:
    pieces: list[tuple[str, float, int]] = []
    tables: dict[int, dict[int, int | bytes]] = {2: {}, 3: {}}
    for number, value in _fields(data):
        if number == 1:
            pieces.append(_read_piece(_message(value)))
            if len(pieces) > MAX_VOCAB_SIZE:
                raise _BadMessageError("it has too many tokens")
        elif number in tables:
            tables[number] |= dict(_fields(_message(value)))
    if not pieces:
        raise _BadMessageError("it lists no tokens")
    return pieces, tables[2], tables[3]


def _read_piece(data: bytes) -> tuple[str, float, int]:
    fields = dict(_fields(data))
    try:
        text = _message(fields.get(1, b"")).decode()
    except UnicodeDecodeError:
        raise _BadMessageError("a token is not UTF-8") from None
    raw = fields.get(2, b"\0\0\0\0")
    if not isinstance(raw, bytes) or len(raw) != 4:
        raise _BadMessageError("a token's score is not a number")
    kind = fields.get(3, int(Kind.NORMAL))
    if not isinstance(kind, int) or kind not in range(1, 7):
        raise _BadMessageError("it has a token of unknown type")
    return text, struct.unpack("<f", raw)[0], kind


def _fields(data: bytes) -> Iterator[_Field]:
    """Number and value of each field: whole numbers as int, everything else as its bytes."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        wire = tag & 7
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield tag >> 3, value
            continue
        if wire == _BYTES:
            length, position = _varint(data, position)
        elif wire in {_FIXED32, _FIXED64}:
            length = 4 if wire == _FIXED32 else 8
        else:
            raise _BadMessageError(f"it has a field of the unknown form {wire}")
        if length > len(data) - position:
            raise _BadMessageError("it ends inside a field")
        yield tag >> 3, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A number in groups of seven bits, lowest first, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise _BadMessageError("it ends inside a number")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise _BadMessageError("one of its numbers is too long")


def _message(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise _BadMessageError("a number stands where a text should be")
    return value


def _id(trainer: Mapping[int, int | bytes], number: int, default: int) -> int:
    """A role's id; -1, an enormous number as it is stored, means that there is none."""
    value = trainer.get(number, default)
    return value if isinstance(value, int) else default


def _unsupported(feature: str, path: str) -> ModelUnsupportedError:
    return ModelUnsupportedError(
        f"This model's tokenizer is {feature}, which is not supported yet; choose another model.",
        path=path,
        feature=feature,
    )
