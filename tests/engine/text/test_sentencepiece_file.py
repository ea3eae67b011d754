"""tokenizer.model files: what is read of them, and that no byte of a bad one goes unchecked."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ModelCorruptError, ModelUnsupportedError
from engine.text.sentencepiece_file import read_sentencepiece
from tests.helpers.sentencepiece_models import PIECES, blob, model, number, varint

UNIGRAM, BPE, WORD = number(3, 1), number(3, 2), number(3, 3)


def test_pieces_and_roles() -> None:
    roles = number(40, 0) + number(41, -1) + number(42, 2)
    normaliser = blob(2, b"\x01\xff") + number(3, 0) + number(4, 0)
    read = read_sentencepiece(model(PIECES, BPE + roles, normaliser), "")
    assert read["tokenizer.ggml.model"] == "llama"
    assert read["tokenizer.ggml.tokens"][:3] == ["<unk>", "<s>", "</s>"]
    assert read["tokenizer.ggml.scores"][-1] == pytest.approx(-1.2)
    assert read["tokenizer.ggml.token_type"][:4] == [2, 3, 3, 6]
    assert read["tokenizer.ggml.bos_token_id"] == 2**64 - 1  # there is none
    assert read["tokenizer.ggml.eos_token_id"] == 2
    assert read["tokenizer.ggml.precompiled_charsmap"] == [1, 255]
    assert not read["tokenizer.ggml.add_space_prefix"]
    assert not read["tokenizer.ggml.remove_extra_whitespaces"]


def test_what_a_file_leaves_out() -> None:
    read = read_sentencepiece(model(PIECES), "")
    assert read["tokenizer.ggml.model"] == "t5"
    assert read["tokenizer.ggml.add_space_prefix"]
    assert read["tokenizer.ggml.remove_extra_whitespaces"]
    assert read["tokenizer.ggml.bos_token_id"] == 1


@pytest.mark.parametrize(
    ("data", "feature"),
    [
        (model(PIECES, WORD), "words"),
        (model(PIECES, number(3, 9)), "another kind"),
        (model(PIECES, number(24, 1)), "mark before words"),
        (model(PIECES, b"", number(5, 0)), "mark before words"),
    ],
)
def test_other_algorithms_are_refused(data: bytes, feature: str) -> None:
    with pytest.raises(ModelUnsupportedError, match=feature):
        read_sentencepiece(data, "here")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a message",
        blob(1, b"")[:-1] + varint(1 << 40),
        b"\x0a" + varint((1 << 63) - 1) + b"x",
        b"\xff" * 30,
        model([("a", 0.0, 9)]),
        blob(1, blob(1, b"\xff\xfe")),
        blob(1, number(1, 5)),
        blob(1, blob(1, b"a") + number(2, 5)),
        number(1, 5),
        model(PIECES, b"", number(2, 5)),
        model(PIECES)[:-1],
    ],
)
def test_broken_files_are_one_sentence(data: bytes) -> None:
    with pytest.raises(ModelCorruptError) as caught:
        read_sentencepiece(data, "here")
    assert len(str(caught.value)) < 200


@given(st.data())
def test_changed_bytes_never_crash(data: st.DataObject) -> None:
    raw = bytearray(model(PIECES[-6:], BPE, blob(2, b"abc")))
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ModelCorruptError, ModelUnsupportedError):
        read_sentencepiece(bytes(raw), "here")
