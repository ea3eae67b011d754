"""Builds the Rust merging model from a GGUF vocabulary.

Knows byte-level BPE (merges listed in the file) and SentencePiece BPE (merges implied by scores).
Control tokens are left out of the model altogether, so ordinary text can never become one.
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TypeVar

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers

from engine.errors import ModelUnsupportedError
from engine.text.pretokenizers import SPLITS, Split
from engine.text.vocabulary import Kind, MetadataReader, Vocabulary, corrupt_tokenizer

T = TypeVar("T")

# Sum of squared piece lengths; real vocabularies stay below 1/20 of it.
_MAX_CUT_CHARS = 400_000_000
_MERGEABLE = (Kind.NORMAL, Kind.USER_DEFINED, Kind.BYTE)
_SPACE = "▁"


def guarded(build: Callable[[], T], path: str) -> T:
    """Run ``build``, which calls the Rust package; its complaints become ModelCorruptError.

    The package raises bare Exception, and its panics derive from BaseException alone.
    """
    try:
        return build()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - see the docstring: there is no narrower type
        raise corrupt_tokenizer(str(error)[:200], path) from None


def split_named(name: str, path: str) -> Split:
    """The split of ``tokenizer.ggml.pre``. Raises ModelUnsupportedError for an unknown one."""
    split = SPLITS.get(name)
    if split is None:
        shown = name[:60] or "none"
        raise ModelUnsupportedError(
            f"This model cuts text with the pre-tokenizer “{shown}”, which is not supported yet;"
            " choose another model.",
            path=path,
            feature=f"pre-tokenizer {shown}",
        )
    return split


def byte_level_model(
    reader: MetadataReader, vocabulary: Vocabulary, split: Split, path: str
) -> Tokenizer:
    """Byte-level BPE with the merges the file lists. Merges that cannot apply are left out."""
    lines = reader.texts("tokenizer.ggml.merges")
    if not lines:
        raise reader.fault("it lists no merges")
    vocab = _vocab(vocabulary)
    pairs = (line.partition(" ") for line in lines)
    merges = [
        (left, right)
        for left, _, right in pairs
        if left in vocab and right in vocab and left + right in vocab
    ]
    model = guarded(
        lambda: models.BPE(vocab=vocab, merges=merges, ignore_merges=split.ignore_merges), path
    )
    tokenizer = Tokenizer(model)
    normalizer = split.normalizer()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = split.pre_tokenizer()
    add_user_defined(tokenizer, vocabulary)
    return tokenizer


def sentencepiece_model(reader: MetadataReader, vocabulary: Vocabulary, path: str) -> Tokenizer:
    """SentencePiece BPE: of all adjacent pairs, the one that gives the best-scored piece merges."""
    scores = read_scores(reader, vocabulary)
    if sum(len(piece) ** 2 for piece in vocabulary.pieces) > _MAX_CUT_CHARS:
        raise reader.fault("its tokens are too long")
    vocab = _vocab(vocabulary)
    unknown = next(
        (
            piece
            for piece, kind in zip(vocabulary.pieces, vocabulary.kinds, strict=True)
            if kind == Kind.UNKNOWN or piece == "<unk>"
        ),
        None,
    )
    if unknown is not None:
        vocab[unknown] = vocabulary.pieces.index(unknown)
    merges = implied_merges(vocabulary, scores)
    model = guarded(
        lambda: models.BPE(
            vocab=vocab, merges=merges, byte_fallback=True, fuse_unk=True, unk_token=unknown
        ),
        path,
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = sentencepiece_normalizer(reader, vocabulary, path)
    add_user_defined(tokenizer, vocabulary)
    return tokenizer


def read_scores(reader: MetadataReader, vocabulary: Vocabulary) -> Sequence[float]:
    """One score a piece."""
    scores = reader.numbers("tokenizer.ggml.scores")
    if len(scores) != len(vocabulary.pieces):
        raise reader.fault(f"it lists {len(scores)} scores for {len(vocabulary.pieces)} tokens")
    return scores


def sentencepiece_normalizer(
    reader: MetadataReader, vocabulary: Vocabulary, path: str
) -> normalizers.Normalizer:
    """What happens to a text before it is cut: mapped characters, spaces made visible."""
    steps: list[normalizers.Normalizer] = []
    values = reader.numbers("tokenizer.ggml.precompiled_charsmap")
    if values:
        steps.append(guarded(lambda: normalizers.Precompiled(_bytes(reader, values)), path))
    if reader.flag("tokenizer.ggml.remove_extra_whitespaces", default=False):
        for pattern, space in ((r"\A +", ""), (rf"[ {_SPACE}]+\z", ""), (" {2,}", " ")):
            steps.append(normalizers.Replace(Regex(pattern), space))
    if vocabulary.add_space_prefix:
        steps.append(normalizers.Prepend(_SPACE))
    return normalizers.Sequence([*steps, normalizers.Replace(" ", _SPACE)])


def _bytes(reader: MetadataReader, values: Sequence[float]) -> bytes:
    if not all(0 <= value < 256 and value == int(value) for value in values):
        raise reader.fault("its map of characters is not made of bytes")
    return bytes(int(value) for value in values)


def implied_merges(vocabulary: Vocabulary, scores: Sequence[float]) -> list[tuple[str, str]]:
    """Every way to put a normal piece together from two others, best score first."""
    normal = {
        piece: score
        for piece, kind, score in zip(vocabulary.pieces, vocabulary.kinds, scores, strict=True)
        if kind == Kind.NORMAL
    }
    found = [
        (-score, -at, piece[:at], piece[at:])
        for piece, score in normal.items()
        for at in range(1, len(piece))
        if piece[:at] in normal and piece[at:] in normal
    ]
    found.sort(key=itemgetter(0, 1))  # of equal scores, the longer left part first
    return [(left, right) for _, _, left, right in found]


def _vocab(vocabulary: Vocabulary) -> dict[str, int]:
    """Ids by piece, the first of equal pieces; without control, unknown and unused tokens."""
    vocab: dict[str, int] = {}
    for token_id, (piece, kind) in enumerate(
        zip(vocabulary.pieces, vocabulary.kinds, strict=True)
    ):
        if piece and kind in _MERGEABLE:
            vocab.setdefault(piece, token_id)
    return vocab


def add_user_defined(tokenizer: Tokenizer, vocabulary: Vocabulary) -> None:
    """User-defined tokens are matched whole in the raw text, before anything else."""
    tokenizer.add_tokens(
        [
            AddedToken(piece, normalized=False, special=False)
            for piece, kind in zip(vocabulary.pieces, vocabulary.kinds, strict=True)
            if kind == Kind.USER_DEFINED and piece
        ]
    )
