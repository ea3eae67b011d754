"""The bytes of tokens, by the way a vocabulary spells them."""

import pytest
from tokenizers import decoders

from engine.text.spelling import byte_value, spelled_bytes
from engine.text.vocabulary import Kind, Spelling

TOKENS = ["Hi", "##ing", "##", ".", "n't", "'m", "x", "##é", ",你", "?", "'"]


@pytest.mark.parametrize("tidies", [True, False])
def test_wordpieces_join_as_their_decoder_joins_them(tidies: bool) -> None:
    spelling = Spelling.WORDPIECE_TIDY if tidies else Spelling.WORDPIECE
    joined = b"".join(spelled_bytes(token, Kind.NORMAL, spelling) for token in TOKENS)
    expected = decoders.WordPiece(cleanup=tidies).decode(TOKENS)
    assert joined.decode().removeprefix(" ") == expected


@pytest.mark.parametrize(
    ("piece", "kind", "spelling", "expected"),
    [
        ("Ġa", Kind.NORMAL, Spelling.BYTE_LEVEL, b" a"),
        ("Ġa", Kind.USER_DEFINED, Spelling.BYTE_LEVEL, "Ġa".encode()),
        ("▁a▁b", Kind.NORMAL, Spelling.SENTENCEPIECE, b" a b"),
        ("<0x0A>", Kind.BYTE, Spelling.SENTENCEPIECE, b"\n"),
        ("<0x0A>", Kind.USER_DEFINED, Spelling.SENTENCEPIECE, b"<0x0A>"),
        ("lo</w>", Kind.NORMAL, Spelling.WORD_END, b"lo "),
        ("word", Kind.NORMAL, Spelling.WORDS, b" word"),
        ("\ud800", Kind.NORMAL, Spelling.SENTENCEPIECE, b"?"),
    ],
)
def test_one_token(piece: str, kind: Kind, spelling: Spelling, expected: bytes) -> None:
    assert spelled_bytes(piece, kind, spelling) == expected


def test_byte_values() -> None:
    assert byte_value("<0xfF>") == 255
    assert byte_value("<0x1>") is None
    assert byte_value("x<0x01>") is None
