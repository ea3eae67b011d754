"""Builds the Rust model of a SentencePiece unigram vocabulary.

Of all ways to cut a text into pieces, it takes the one whose scores add up to the most. Pieces that no text may become (control tokens, single bytes, unused ones) keep their ids and get a
spelling with a space in it, which normalised text never has.
"""

import math

from tokenizers import Tokenizer, models

from engine.text.merging import add_user_defined, guarded, read_scores, sentencepiece_normalizer
from engine.text.spelling import byte_value
from engine.text.vocabulary import Kind, MetadataReader, Vocabulary

_MATCHED = (Kind.NORMAL, Kind.USER_DEFINED)


def unigram_model(reader: MetadataReader, vocabulary: Vocabulary, path: str) -> Tokenizer:
    """The model of ``vocabulary`` with the scores the file lists."""
    scores = read_scores(reader, vocabulary)
    if any(map(math.isnan, scores)):
        raise reader.fault("a token's score is not a number")
    unknown = unknown_id(vocabulary)
    if unknown is None:
        raise reader.fault("it has no token for unknown text")
    seen: set[str] = set()
    entries: list[tuple[str, float]] = []
    parts = zip(vocabulary.pieces, vocabulary.kinds, scores, strict=True)
    for token_id, (piece, kind, score) in enumerate(parts):
        is_matched = bool(piece) and kind in _MATCHED and piece not in seen
        seen.add(piece)
        entries.append((piece, float(score)) if is_matched else (f" {token_id}", 0.0))
    model = guarded(lambda: models.Unigram(entries, unk_id=unknown, byte_fallback=False), path)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = sentencepiece_normalizer(reader, vocabulary, path)
    add_user_defined(tokenizer, vocabulary)
    return tokenizer


def unknown_id(vocabulary: Vocabulary) -> int | None:
    """The token that stands for text without one."""
    kinds = vocabulary.kinds
    return kinds.index(Kind.UNKNOWN) if Kind.UNKNOWN in kinds else None


def byte_ids(vocabulary: Vocabulary) -> tuple[int, ...] | None:
    """The ids of all 256 single bytes in order; None where one is missing."""
    found: dict[int, int] = {}
    for token_id, kind in enumerate(vocabulary.kinds):
        if kind == Kind.BYTE:
            value = byte_value(vocabulary.pieces[token_id])
            if value is not None:
                found.setdefault(value, token_id)
    return tuple(found[value] for value in range(256)) if len(found) == 256 else None
