"""Text to token ids, and ids to the exact bytes they stand for.

Wraps the Rust ``tokenizers`` package. Control tokens are found here and not in the Rust model:
``parse_special`` decides whether ``<|im_end|>`` in a text is that token or ten characters, and
nothing a user typed can slip into the other reading. Immutable after construction, so any thread
may use it; encoding gives the GIL back while it works.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from tokenizers import Tokenizer as RustTokenizer

from engine.errors import ModelUnsupportedError
from engine.text.control import ControlTokens
from engine.text.merging import byte_level_model, sentencepiece_model, split_named
from engine.text.vocabulary import (
    Kind,
    MetadataReader,
    Spelling,
    Vocabulary,
    read_eos_ids,
    read_kinds,
    read_pieces,
)

_SPACE: Final = "▁"
_SPECIAL: Final = frozenset({Kind.CONTROL, Kind.UNKNOWN})
_BYTE_PIECE: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _byte_alphabet() -> dict[str, int]:
    """The printable character each byte is spelled with in byte-level vocabularies.

    Printable Latin-1 bytes stand for themselves, all others follow from U+0100 in order.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    alphabet = {chr(byte): byte for byte in printable}
    alphabet.update({chr(0x100 + index): byte for index, byte in enumerate(others)})
    return alphabet


_ALPHABET: Final = _byte_alphabet()


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
    ) -> None:
        """Join a vocabulary and its Rust models.

        ``first`` encodes the beginning of a text, ``following`` (the same when None) what comes
        after a control token. ``strips``: control tokens that swallow white space on their left,
        on their right.
        """
        self._vocabulary = vocabulary
        self._first = first
        self._following = first if following is None else following
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
        backend = self._first
        for piece, token_id in self.control.split(text):
            if token_id is None:
                ids += self._encode_plain(piece.replace(guard, "") if guard else piece, backend)
            else:
                ids.append(token_id)
            backend = self._following
        return ids

    def encode_prompt(self, text: str) -> list[int]:
        """Token ids of a raw prompt: control tokens count, BOS first where the model wants it."""
        return self.with_bos(self.encode(text, parse_special=True))

    def with_bos(self, ids: list[int]) -> list[int]:
        """``ids`` with BOS in front, unless the model wants none or it is there already."""
        if not self.add_bos or self.bos_id is None or ids[:1] == [self.bos_id]:
            return ids
        return [self.bos_id, *ids]

    def token_bytes(self, token_id: int) -> bytes:
        """The exact bytes of a token; empty for an id outside the vocabulary."""
        if not 0 <= token_id < self.vocab_size:
            return b""
        piece = self._vocabulary.pieces[token_id]
        kind = self._vocabulary.kinds[token_id]
        if kind in _SPECIAL:
            return _utf8(piece)
        if self._vocabulary.spelling is Spelling.BYTE_LEVEL:
            if kind == Kind.USER_DEFINED or not all(char in _ALPHABET for char in piece):
                return _utf8(piece)
            return bytes(_ALPHABET[char] for char in piece)
        match = _BYTE_PIECE.fullmatch(piece)
        if match and kind in {Kind.BYTE, Kind.NORMAL}:
            return bytes([int(match[1], 16)])
        return _utf8(piece.replace(_SPACE, " "))

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

    def _encode_plain(self, text: str, backend: RustTokenizer) -> list[int]:
        if not text:
            return []
        try:
            text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, which no UTF-8 can hold
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        # The batch call of one text releases the GIL; the single call does not.
        batch = backend.encode_batch_fast([text], add_special_tokens=False)
        ids: list[int] = batch[0].ids
        return ids


def _utf8(piece: str) -> bytes:
    return piece.encode("utf-8", "replace")


def tokenizer_from_gguf(metadata: Mapping[str, Any], path: str = "") -> Tokenizer:
    """Build the tokenizer a GGUF file describes; ``path`` names the file in failures.

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
        return Tokenizer(vocabulary, sentencepiece_model(reader, vocabulary, path))
    shown = model[:60] or "none"
    raise ModelUnsupportedError(
        f"This model's tokenizer is of kind “{shown}”, which is not supported yet;"
        " choose another model.",
        path=path,
        feature=f"tokenizer {shown}",
    )


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
