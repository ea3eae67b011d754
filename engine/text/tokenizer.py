"""Text to token ids, and ids to the exact bytes they stand for.

Wraps the Rust ``tokenizers`` package. Control tokens are found here and not in the Rust model:
``parse_special`` decides whether ``<|im_end|>`` in a text is that token or ten characters, and
nothing a user typed can slip into the other reading. Immutable after construction but for a memo
(``engine.text.memo``), so any thread may use it; encoding gives the GIL back while it works.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, Final, NamedTuple

from tokenizers import Tokenizer as RustTokenizer

from engine.errors import ModelUnsupportedError
from engine.text.control import ControlTokens
from engine.text.memo import StretchMemo
from engine.text.merging import byte_level_model, sentencepiece_model, split_named
from engine.text.spelling import spelled_bytes, utf8
from engine.text.unigram import byte_ids, unigram_model
from engine.text.vocabulary import (
    Kind,
    MetadataReader,
    Spelling,
    Vocabulary,
    read_eos_ids,
    read_kinds,
    read_pieces,
)

_Builder = Callable[[MetadataReader, Vocabulary, str], RustTokenizer]
_SPECIAL: Final = frozenset({Kind.CONTROL, Kind.UNKNOWN})


class TokenSpan(NamedTuple):
    """A token, and the bytes [start, end) of the text's UTF-8 that it stands for."""

    token_id: int
    start: int
    end: int


class Tokenizer:
    """One model's tokenizer.

    ``eos_ids`` end an answer; ``control`` finds control tokens in text. ``vocab_size``
    counts the vocabulary; a model's embedding may have a few more, unused rows.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        first: RustTokenizer,
        following: RustTokenizer | None = None,
        strips: Mapping[str, tuple[bool, bool]] | None = None,
        byte_ids: Sequence[int] | None = None,
    ) -> None:
        """Join a vocabulary and its Rust models.

        ``first`` encodes the beginning of a text, ``following`` (the same when None) what comes
        after a control token. ``strips``: control tokens that swallow white space on their left,
        on their right. ``byte_ids``: tokens of all single bytes, in place of one for unknown text.
        """
        self._vocabulary = vocabulary
        self._first = first
        self._following = first if following is None else following
        self._byte_ids = byte_ids
        self._memo = StretchMemo(0) if _draws_lots(self._first) else StretchMemo()
        self.control: Final = ControlTokens(
            {
                piece: token_id
                for token_id, piece in reversed(list(enumerate(vocabulary.pieces)))
                if vocabulary.kinds[token_id] in _SPECIAL
            },
            strips,
        )
        self.special_strings: Final = self.control.strings
        self.eos_ids: Final = vocabulary.eos_ids
        self.bos_id: Final = vocabulary.bos_id
        self.eos_id: Final = vocabulary.eos_id
        self.add_bos: Final = vocabulary.add_bos and vocabulary.bos_id is not None
        self.add_space_prefix: Final = vocabulary.add_space_prefix
        self.vocab_size: Final = len(vocabulary.pieces)

    def encode(self, text: str, *, parse_special: bool, guard: str = "") -> list[int]:
        """Token ids of ``text``, without BOS.

        ``parse_special``: control tokens written in the text become those tokens; otherwise they
        are plain characters. ``guard`` is a character that keeps the text around it from being
        read as a control token; it leaves no trace in the ids.
        """
        if not parse_special:
            return self._encode_plain(text.replace(guard, "") if guard else text, self._first)
        ids: list[int] = []
        encode, is_first = self._encode_first, True
        for piece, token_id in self.control.split(text):
            if token_id is None:
                plain = piece.replace(guard, "") if guard else piece
                ids += self._memo.ids(plain, encode, is_first=is_first)
            else:
                ids.append(token_id)
            encode, is_first = self._encode_following, self._first is self._following
        return ids

    def encode_prompt(self, text: str) -> list[int]:
        """Token ids of a raw prompt: control tokens count, BOS first where the model wants it."""
        return self.with_bos(self.encode(text, parse_special=True))

    def with_bos(self, ids: list[int]) -> list[int]:
        """``ids`` with BOS in front, unless the model wants none or it is there already."""
        if not self.add_bos or self.bos_id is None or ids[:1] == [self.bos_id]:
            return ids
        return [self.bos_id, *ids]

    def spans(self, text: str, *, parse_special: bool, guard: str = "") -> list[TokenSpan]:
        """The tokens of ``encode``, each with the bytes of ``text`` it stands for.

        Where a tokenizer changes texts before it cuts them, the bytes are those that the outcome
        was made of; a token that stands for no part of the text has none. Guards are not counted.
        """
        text = _without_surrogates(text)
        pieces = self.control.split(text) if parse_special else iter([(text, None)])
        spans: list[TokenSpan] = []
        backend, at, start = self._first, 0, 0
        for piece, token_id in pieces:
            found = text.index(piece, at)  # white space around a control token may be skipped
            start += len(text[at:found].replace(guard, "").encode())
            at = found + len(piece)
            plain = piece.replace(guard, "")
            end = start + len(plain.encode())
            if token_id is None:
                spans += self._spans_of(plain, start, backend)
            else:
                spans.append(TokenSpan(token_id, start, end))
            start, backend = end, self._following
        return spans

    def token_bytes(self, token_id: int) -> bytes:
        """The exact bytes of a token; empty for an id outside the vocabulary."""
        if not 0 <= token_id < self.vocab_size:
            return b""
        piece = self._vocabulary.pieces[token_id]
        kind = self._vocabulary.kinds[token_id]
        if kind in _SPECIAL:
            return utf8(piece)
        return spelled_bytes(piece, kind, self._vocabulary.spelling)

    def token_text(self, token_id: int | None) -> str:
        """The piece as the vocabulary spells it; empty for None and ids outside the vocabulary."""
        if token_id is None or not 0 <= token_id < self.vocab_size:
            return ""
        return self._vocabulary.pieces[token_id]

    def is_special(self, token_id: int) -> bool:
        """Whether the token steers the model and is never shown."""
        if not 0 <= token_id < self.vocab_size:
            return True
        return self._vocabulary.kinds[token_id] in _SPECIAL

    def _encode_first(self, text: str) -> list[int]:
        return self._encode_plain(text, self._first)

    def _encode_following(self, text: str) -> list[int]:
        return self._encode_plain(text, self._following)

    def _encode_plain(self, text: str, backend: RustTokenizer) -> list[int]:
        if not text:
            return []
        text = _without_surrogates(text)
        # The batch call of one text releases the GIL; the single call does not.
        if self._byte_ids is not None:
            found = backend.encode_batch([text], add_special_tokens=False)[0]
            return list(self._with_bytes(found.ids, found.tokens, self._byte_ids))
        batch = backend.encode_batch_fast([text], add_special_tokens=False)
        ids: list[int] = batch[0].ids
        return ids

    def _spans_of(self, text: str, start: int, backend: RustTokenizer) -> Iterator[TokenSpan]:
        """Spans of a text without control tokens, which begins at byte ``start``."""
        ids = self._encode_plain(text, backend)
        parts = [self.token_bytes(token_id) for token_id in ids]
        data, joined = text.encode(), b"".join(parts)
        if joined in {data, b" " + data}:  # byte by byte, even inside a character
            at = start - (len(joined) - len(data))
            for token_id, part in zip(ids, parts, strict=True):
                yield TokenSpan(token_id, max(at, start), at + len(part))
                at += len(part)
            return
        at_chars = list(accumulate((len(char.encode()) for char in text), initial=start))
        found = backend.encode_batch([text], add_special_tokens=False)[0]
        for token_id, piece, (first, last) in zip(
            found.ids, found.tokens, found.offsets, strict=True
        ):
            for spelled in self._with_bytes([token_id], [piece], self._byte_ids or ()):
                yield TokenSpan(spelled, at_chars[first], at_chars[last])

    def _with_bytes(
        self, ids: Iterable[int], pieces: Iterable[str], byte_ids: Sequence[int]
    ) -> Iterator[int]:
        """Spell unknown text byte by byte."""
        for token_id, piece in zip(ids, pieces, strict=True):
            if byte_ids and self._vocabulary.kinds[token_id] == Kind.UNKNOWN:
                yield from (byte_ids[byte] for byte in piece.encode())
            else:
                yield token_id


def _draws_lots(backend: RustTokenizer) -> bool:
    """Whether merges are left out by chance, so that one text may become this or that."""
    return bool(getattr(backend.model, "dropout", None))


def _without_surrogates(text: str) -> str:
    """``text`` with half of a surrogate pair, which no UTF-8 can hold, as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def tokenizer_from_gguf(
    metadata: Mapping[str, Any], path: str = "", *, prefix_once: bool = False
) -> Tokenizer:
    """Build the tokenizer a GGUF file describes; ``path`` names the file in failures.

    ``prefix_once``: the space before a text comes at its very beginning alone, and not after
    control tokens as well.

    Raises ModelUnsupportedError for a tokenizer kind or pre-tokenizer we do not know, and
    ModelCorruptError for metadata that breaks the format's rules.
    """
    reader = MetadataReader(metadata, path)
    model = reader.text("tokenizer.ggml.model")
    if model == "gpt2":
        split = split_named(reader.text("tokenizer.ggml.pre"), path)
        vocabulary = _vocabulary(reader, Spelling.BYTE_LEVEL, adds_bos=split.adds_bos)
        return Tokenizer(vocabulary, byte_level_model(reader, vocabulary, split, path))
    if model == "llama":
        vocabulary = _vocabulary(reader, Spelling.SENTENCEPIECE, adds_bos=True)
        make: _Builder = sentencepiece_model
    elif model == "t5":
        vocabulary = _vocabulary(reader, Spelling.SENTENCEPIECE, adds_bos=False)
        make = unigram_model
    else:
        shown = model[:60] or "none"
        raise ModelUnsupportedError(
            f"This model's tokenizer is of kind “{shown}”, which is not supported yet;"
            " choose another model.",
            path=path,
            feature=f"tokenizer {shown}",
        )
    first = make(reader, vocabulary, path)
    following = None
    if prefix_once and vocabulary.add_space_prefix:
        following = make(reader, replace(vocabulary, add_space_prefix=False), path)
    spelled = byte_ids(vocabulary) if model == "t5" else None
    return Tokenizer(vocabulary, first, following, byte_ids=spelled)


def _vocabulary(reader: MetadataReader, spelling: Spelling, *, adds_bos: bool) -> Vocabulary:
    pieces = read_pieces(reader)
    kinds = read_kinds(reader, pieces)
    sentencepiece = spelling is Spelling.SENTENCEPIECE
    bos_id = reader.token_id("tokenizer.ggml.bos_token_id", len(pieces))
    return Vocabulary(
        pieces=pieces,
        kinds=kinds,
        spelling=spelling,
        bos_id=bos_id,
        eos_id=reader.token_id("tokenizer.ggml.eos_token_id", len(pieces)),
        eos_ids=read_eos_ids(reader, pieces, kinds),
        add_bos=reader.flag("tokenizer.ggml.add_bos_token", default=adds_bos),
        add_space_prefix=sentencepiece
        and reader.flag("tokenizer.ggml.add_space_prefix", default=True),
    )
