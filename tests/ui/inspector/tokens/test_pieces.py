"""Tokens as words."""

import pytest

from engine.api import TokenOrigin
from tests.helpers.inspected_tokens import ANSWER, USER, choice, plain, some_tokens
from ui.inspector.tokens.pieces import (
    LONGEST,
    ends_line,
    hex_bytes,
    origin_words,
    percent,
    quoted,
    read_out,
    shown_piece,
    whole_sentence,
)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b" the", "·the"),
        (b"\n\n", "⏎⏎"),
        (b"\t\r", "⇥␍"),
        ("你好".encode(), "你好"),
        (b"\xe4\xbd", r"\xe4\xbd"),
        (b"a\xff", r"a\xff"),
        (b"\x00\x1b", r"\x00\x1b"),
        ("\u200d\xa0".encode(), r"\u200d\xa0"),
        ("é🙂".encode(), "é🙂"),
    ],
)
def test_every_byte_is_seen(data, shown):
    assert shown_piece(plain(data, USER)) == shown
    assert shown_piece(choice(data, 0.5)) == shown


def test_a_token_without_text_is_shown_by_its_number():
    assert shown_piece(choice(b"", 0.5, 1234)) == "[1234]"


def test_long_pieces_are_cut_in_the_middle():
    piece = shown_piece(plain(b"a" * 100 + b"b" * 100, USER))
    assert len(piece) < LONGEST
    assert piece.startswith("aaa")
    assert piece.endswith("bbb")
    assert "…" in piece


def test_special_tokens_need_no_marks():
    special, word = some_tokens()[:2]
    assert quoted(special) == "<|s|>"
    assert quoted(word) == "“Is”"


def test_lines_end_where_the_text_says():
    assert [ends_line(token) for token in some_tokens()] == [False, False, True, *[False] * 3]


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (1.0, "100%"),
        (0.9996, "100%"),
        (0.312, "31.2%"),
        (0.01, "1.0%"),
        (0.0004, "0.04%"),
        (0.00001, "<0.01%"),
        (0.0, "0%"),
    ],
)
def test_probabilities(share, words):
    assert percent(share) == words


def test_bytes_and_origins():
    assert hex_bytes(b" \xe4") == "20 E4"
    words = {origin_words(plain(b"a", origin)) for origin in TokenOrigin}
    assert len(words) == len(TokenOrigin)


def test_a_token_in_a_line():
    special, *_, answer, _, _ = some_tokens()
    assert read_out(answer) == "“Yes” · id 50 · this answer · 75.0% · 1.50 bits"
    assert read_out(special) == "<|s|> · id 5 · special · chat template"


def test_all_of_them_in_a_sentence():
    sentence = whole_sentence(some_tokens())
    assert sentence.startswith("3 tokens in the prompt, 3 tokens in the answer.")
    assert "35.4% on average" in sentence
    assert "“·sir” with 6.2%" in sentence
    assert whole_sentence([plain(b"a", ANSWER)]).endswith("1 token in the answer.")
