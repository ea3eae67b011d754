"""Unigram vocabularies of GGUF headers."""

from typing import Any

import pytest

from engine.errors import ModelCorruptError
from engine.text.tokenizer import Tokenizer, tokenizer_from_gguf
from tests.helpers.sentencepiece_models import PIECES


def metadata(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "model": "t5",
        "tokens": [text for text, _score, _kind in PIECES],
        "scores": [score for _text, score, _kind in PIECES],
        "token_type": [kind for _text, _score, kind in PIECES],
        "bos_token_id": 1,
        "eos_token_id": 2,
        **changes,
    }
    return {f"tokenizer.ggml.{key}": value for key, value in values.items()}


def pieces(tokenizer: Tokenizer, text: str) -> list[str]:
    return [tokenizer.token_text(i) for i in tokenizer.encode(text, parse_special=False)]


def test_the_best_cut_wins() -> None:
    tokenizer = tokenizer_from_gguf(metadata())
    assert pieces(tokenizer, "ab ab b") == ["▁ab", "▁ab", "▁", "b"]
    assert pieces(tokenizer, "a  ") == ["▁a", "▁", "▁"]
    assert pieces(tokenizer_from_gguf(metadata(remove_extra_whitespaces=True)), " a  a ") == [
        "▁a", "▁a",
    ]  # fmt: skip
    assert pieces(tokenizer_from_gguf(metadata(add_space_prefix=False)), "ab") == ["ab"]


def test_unknown_text_without_bytes() -> None:
    kinds = [5 if kind == 6 else kind for _text, _score, kind in PIECES]
    tokenizer = tokenizer_from_gguf(metadata(token_type=kinds))
    assert pieces(tokenizer, "a<0x41>") == ["▁a", "<unk>"]


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": [0.0]},
        {"scores": [float("nan")] * len(PIECES)},
        {"token_type": [1] * len(PIECES)},
        {"precompiled_charsmap": [300]},
        {"precompiled_charsmap": [1, 2, 3]},
    ],
)
def test_broken_headers(changes: dict[str, Any]) -> None:
    with pytest.raises(ModelCorruptError):
        tokenizer_from_gguf(metadata(**changes))
