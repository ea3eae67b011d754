"""A model file's vocabulary, checked: pieces, their kinds, and the ids with a role.

Knows the ``tokenizer.ggml.*`` keys and nothing of merging text. Every size and type is checked
here, since a file may come from anywhere: what does not fit is a ModelCorruptError.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, Final

from engine.errors import ModelCorruptError

MAX_VOCAB_SIZE: Final = 4_000_000
MAX_PIECE_CHARS: Final = 65_536

# Tokens that end an answer, whatever the file calls its end of text.
END_OF_TURN: Final = frozenset(
    {
        "<|im_end|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<end_of_turn>",
        "<|end_of_turn|>",
        "<|end|>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<|endofturn|>",
        "<|END_OF_TURN_TOKEN|>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
        "<EOT>",
    }
)


class Kind(IntEnum):
    """What a token stands for, numbered as GGUF numbers it."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


class Spelling(StrEnum):
    """How a piece spells its bytes.

    BYTE_LEVEL: one printable character a byte. SENTENCEPIECE: text with U+2581 for a space, and
    ``<0xNN>`` for single bytes. WORDPIECE: ``##`` goes on with a word, all else begins one;
    WORDPIECE_TIDY: no space before punctuation. WORD_END: ``</w>`` ends a word. WORDS: each is one.
    """

    BYTE_LEVEL = "byte_level"
    SENTENCEPIECE = "sentencepiece"
    WORDPIECE = "wordpiece"
    WORDPIECE_TIDY = "wordpiece_tidy"
    WORD_END = "word_end"
    WORDS = "words"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Token i is spelled ``pieces[i]`` and is of ``kinds[i]``.

    ``eos_id`` is the end of text, ``eos_ids`` all that end an answer. ``add_bos``: a prompt starts with ``bos_id``. ``add_space_prefix``:
    a text is encoded as if a space stood before it.
    """

    pieces: tuple[str, ...]
    kinds: bytes
    spelling: Spelling
    bos_id: int | None
    eos_id: int | None
    eos_ids: frozenset[int]
    add_bos: bool
    add_space_prefix: bool = False


def corrupt_tokenizer(reason: str, path: str) -> ModelCorruptError:
    """The failure for a tokenizer that breaks its format's rules."""
    return ModelCorruptError(
        f"The tokenizer in the model file is damaged ({reason}); download the model again.",
        path=path,
        reason=reason,
    )


class MetadataReader:
    """Typed access to metadata; each method raises ModelCorruptError for a value of another type."""

    def __init__(self, metadata: Mapping[str, Any], path: str) -> None:
        self._metadata = metadata
        self._path = path

    def fault(self, reason: str) -> ModelCorruptError:
        """The failure to raise for ``reason``."""
        return corrupt_tokenizer(reason, self._path)

    def text(self, key: str) -> str:
        """A string; empty when absent."""
        value = self._metadata.get(key, "")
        if not isinstance(value, str):
            raise self.fault(f"{key} is not text")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """A boolean, or an integer that stands for one."""
        value = self._metadata.get(key, default)
        if not isinstance(value, (bool, int)):
            raise self.fault(f"{key} is not a flag")
        return bool(value)

    def texts(self, key: str) -> Sequence[str]:
        """An array of strings; empty when absent."""
        value = self._metadata.get(key, ())
        if not isinstance(value, (list, tuple)) or not set(map(type, value)) <= {str}:
            raise self.fault(f"{key} is not an array of strings")
        return value

    def numbers(self, key: str) -> Sequence[float]:
        """An array of numbers as Python numbers; empty when absent."""
        value = self._metadata.get(key, ())
        if hasattr(value, "tolist"):
            value = value.tolist()
        if not isinstance(value, (list, tuple)) or not set(map(type, value)) <= {int, float}:
            raise self.fault(f"{key} is not an array of numbers")
        return value

    def token_id(self, key: str, vocab_size: int) -> int | None:
        """A token id inside the vocabulary; None when absent or out of range.

        Files in the wild carry ids such as 2**32 - 1 for "none".
        """
        value = self._metadata.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fault(f"{key} is not a token id")
        return value if 0 <= value < vocab_size else None


def read_pieces(reader: MetadataReader) -> tuple[str, ...]:
    """All pieces by id."""
    pieces = tuple(reader.texts("tokenizer.ggml.tokens"))
    if not pieces:
        raise reader.fault("it lists no tokens")
    if len(pieces) > MAX_VOCAB_SIZE:
        raise reader.fault(f"it lists {len(pieces)} tokens")
    if max(map(len, pieces)) > MAX_PIECE_CHARS:
        raise reader.fault("a token is longer than 65,536 characters")
    return pieces


def read_kinds(reader: MetadataReader, pieces: Sequence[str]) -> bytes:
    """One Kind a piece; known end-of-turn tokens count as CONTROL even where a file forgot it."""
    numbers = reader.numbers("tokenizer.ggml.token_type")
    if not numbers:
        numbers = [Kind.NORMAL] * len(pieces)
    if len(numbers) != len(pieces):
        raise reader.fault(f"it lists {len(numbers)} token types for {len(pieces)} tokens")
    if not set(numbers) <= set(range(7)):
        raise reader.fault("it has a token of unknown type")
    kinds = bytearray(int(number) or Kind.NORMAL for number in numbers)
    for token_id, piece in enumerate(pieces):
        if kinds[token_id] == Kind.USER_DEFINED and piece in END_OF_TURN:
            kinds[token_id] = Kind.CONTROL
    return bytes(kinds)


def read_eos_ids(reader: MetadataReader, pieces: Sequence[str], kinds: bytes) -> frozenset[int]:
    """End of text, end of turn, end of message, and known control tokens of that meaning."""
    names = ("eos_token_id", "eot_token_id", "eom_token_id")
    found = {reader.token_id(f"tokenizer.ggml.{name}", len(pieces)) for name in names}
    found.update(
        token_id
        for token_id, (piece, kind) in enumerate(zip(pieces, kinds, strict=True))
        if kind == Kind.CONTROL and piece in END_OF_TURN
    )
    return frozenset(token_id for token_id in found if token_id is not None)
