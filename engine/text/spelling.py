"""The bytes a token stands for, from how its vocabulary spells it. Knows one token at a time."""

import re
from typing import Final

from engine.text.vocabulary import Kind, Spelling

_SPACE: Final = "▁"
_BYTE_PIECE: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_CONTINUES: Final = "##"
_WORD_END: Final = "</w>"
# what the WordPiece decoder takes the space away from, inside one token
_TIDIED: Final = {
    f" {text}": text for text in (".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re")
} | {" ' ": "'", " do not": " don't"}


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


def spelled_bytes(piece: str, kind: int, spelling: Spelling) -> bytes:
    """The bytes of an ordinary token; those of words begin with the space between two of them."""
    match spelling:
        case Spelling.BYTE_LEVEL:
            return _from_alphabet(piece, kind)
        case Spelling.SENTENCEPIECE:
            value = byte_value(piece) if kind in {Kind.BYTE, Kind.NORMAL} else None
            return utf8(piece.replace(_SPACE, " ")) if value is None else bytes([value])
        case Spelling.WORDPIECE | Spelling.WORDPIECE_TIDY:
            is_continued = piece.startswith(_CONTINUES)
            text = piece.removeprefix(_CONTINUES) if is_continued else f" {piece}"
            return utf8(_tidied(text) if spelling is Spelling.WORDPIECE_TIDY else text)
        case Spelling.WORD_END:
            return utf8(piece.replace(_WORD_END, " "))
        case Spelling.WORDS:
            return utf8(f" {piece}")


def _from_alphabet(piece: str, kind: int) -> bytes:
    if kind == Kind.USER_DEFINED:
        return utf8(piece)
    try:
        return bytes(map(_ALPHABET.__getitem__, piece))
    except KeyError:  # no byte is spelled like that: the piece stands for itself
        return utf8(piece)


def utf8(piece: str) -> bytes:
    """The piece itself; half a surrogate pair becomes a question mark."""
    return piece.encode("utf-8", "replace")


def byte_value(piece: str) -> int | None:
    """The byte that a piece such as ``<0x0A>`` stands for; None for other pieces."""
    match = _BYTE_PIECE.fullmatch(piece)
    return int(match[1], 16) if match else None


def _tidied(text: str) -> str:
    for spaced, tight in _TIDIED.items():
        text = text.replace(spaced, tight)
    return text
