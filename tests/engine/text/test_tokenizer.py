"""Text to ids and back on readable vocabularies; hostile metadata ends as a typed error."""

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import EngineError, ModelCorruptError, ModelUnsupportedError
from engine.text.tokenizer import Tokenizer, tokenizer_from_gguf
from tests.helpers.tiny_tokenizers import (
    byte_level_metadata,
    byte_level_tokenizer,
    sentencepiece_metadata,
    sentencepiece_tokenizer,
)

BYTE_LEVEL = byte_level_tokenizer()
SENTENCEPIECE = sentencepiece_tokenizer()


def whole(tokenizer: Tokenizer, ids: list[int]) -> bytes:
    return b"".join(map(tokenizer.token_bytes, ids))


def spelled(tokenizer: Tokenizer, text: str) -> list[str]:
    return [tokenizer.token_text(i) for i in tokenizer.encode(text, parse_special=False)]


def test_byte_level_merges_in_the_order_of_the_file() -> None:
    assert spelled(BYTE_LEVEL, "hello world") == ["hello", "Ġw", "o", "r", "l", "d"]


def test_sentencepiece_merges_the_best_score_first() -> None:
    assert spelled(SENTENCEPIECE, "hello") == ["▁hello"]
    assert spelled(SENTENCEPIECE, "hell") == ["▁", "hell"]


def test_sentencepiece_falls_back_to_bytes() -> None:
    ids = SENTENCEPIECE.encode("hello z", parse_special=False)
    assert spelled(SENTENCEPIECE, "hello z") == ["▁hello", "▁", "<0x7A>"]
    assert whole(SENTENCEPIECE, ids) == b" hello z"


def test_space_prefix_is_as_the_file_says() -> None:
    plain = sentencepiece_tokenizer(add_space_prefix=False)
    assert not plain.add_space_prefix
    assert spelled(plain, "hello") == ["hello"]


def test_control_tokens_count_only_when_asked_for() -> None:
    text = "he<|im_end|>ll"
    assert BYTE_LEVEL.encode(text, parse_special=True) == [256, 262, 257]
    plain = BYTE_LEVEL.encode(text, parse_special=False)
    assert 262 not in plain
    assert whole(BYTE_LEVEL, plain).decode() == text


def test_a_guard_keeps_text_from_being_a_control_token_and_leaves_no_trace() -> None:
    guarded = BYTE_LEVEL.encode("he<\ufdd0|im_end|>", parse_special=True, guard="\ufdd0")
    assert guarded == BYTE_LEVEL.encode("he<|im_end|>", parse_special=False)


def test_user_defined_tokens_are_matched_whole() -> None:
    assert BYTE_LEVEL.encode("he<think>ll", parse_special=False) == [256, 263, 257]
    assert not BYTE_LEVEL.is_special(263)
    assert BYTE_LEVEL.token_bytes(263) == b"<think>"


def test_roles_of_tokens() -> None:
    assert BYTE_LEVEL.bos_id == 261
    assert BYTE_LEVEL.eos_ids == {262}
    assert BYTE_LEVEL.is_special(261)
    assert not BYTE_LEVEL.is_special(0)
    assert BYTE_LEVEL.special_strings == {"<|im_start|>", "<|im_end|>"}
    assert BYTE_LEVEL.vocab_size == 264


def test_known_end_of_turn_tokens_end_an_answer_whatever_eos_is() -> None:
    tokenizer = byte_level_tokenizer(eos_token_id=261)
    assert tokenizer.eos_ids == {261, 262}


def test_bos_goes_in_front_once_and_only_where_wanted() -> None:
    assert not BYTE_LEVEL.add_bos
    assert BYTE_LEVEL.encode_prompt("he") == [256]
    wants = byte_level_tokenizer(add_bos_token=True)
    assert wants.encode_prompt("he") == [261, 256]
    assert wants.encode_prompt("<|im_start|>he") == [261, 256]
    assert SENTENCEPIECE.add_bos  # the kind's default


def test_ids_outside_the_vocabulary_are_empty_and_hidden() -> None:
    for token_id in (-1, 264, 10**9):
        assert BYTE_LEVEL.token_bytes(token_id) == b""
        assert BYTE_LEVEL.token_text(token_id) == ""
        assert BYTE_LEVEL.is_special(token_id)


@given(st.text())
def test_byte_level_round_trip(text: str) -> None:
    for parse_special in (False, True):
        ids = BYTE_LEVEL.encode(text, parse_special=parse_special)
        assert whole(BYTE_LEVEL, ids).decode() == text


@given(st.text(st.characters(exclude_characters="▁", exclude_categories=["Cs"])))
def test_sentencepiece_round_trip(text: str) -> None:
    ids = SENTENCEPIECE.encode(text, parse_special=False)
    assert whole(SENTENCEPIECE, ids).decode() == (" " + text if text else "")


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    ids = BYTE_LEVEL.encode("he\ud83d", parse_special=False)
    assert whole(BYTE_LEVEL, ids).decode() == "he\ufffd"
    pair = BYTE_LEVEL.encode("\ud83d\ude00", parse_special=False)
    assert whole(BYTE_LEVEL, pair).decode() == "😀"


def test_threads_may_share_a_tokenizer() -> None:
    text = "hello world " * 200
    expected = BYTE_LEVEL.encode(text, parse_special=True)
    results: list[list[int]] = []
    threads = [
        threading.Thread(
            target=lambda: results.append(BYTE_LEVEL.encode(text, parse_special=True))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_numpy_arrays_and_odd_ids_are_read() -> None:
    metadata = sentencepiece_metadata(eos_token_id=2**32 - 1)
    for key in ("tokenizer.ggml.scores", "tokenizer.ggml.token_type"):
        metadata[key] = np.array(metadata[key])
    tokenizer = tokenizer_from_gguf(metadata)
    assert tokenizer.encode("hello", parse_special=False) == [269]
    assert tokenizer.eos_ids == frozenset()


@pytest.mark.parametrize("pre", ["default", "no-such-thing", "", None])
def test_an_unknown_pre_tokenizer_is_refused(pre: str | None) -> None:
    with pytest.raises(ModelUnsupportedError) as caught:
        byte_level_tokenizer(pre=pre)
    assert "feature" in caught.value.details


@pytest.mark.parametrize("model", ["bert", "", "x" * 10_000])
def test_an_unknown_kind_of_tokenizer_is_refused(model: str) -> None:
    with pytest.raises(ModelUnsupportedError) as caught:
        byte_level_tokenizer(model=model)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "changes",
    [
        {"tokens": []},
        {"tokens": None},
        {"tokens": "text"},
        {"tokens": ["a", 1]},
        {"tokens": [b"a"]},
        {"tokens": ["x" * 70_000] + ["y"] * 263},
        {"token_type": [1, 2, 3]},
        {"token_type": ["1"] * 264},
        {"token_type": [9] * 264},
        {"token_type": [float("nan")] * 264},
        {"token_type": 7},
        {"merges": None},
        {"merges": []},
        {"merges": [3]},
        {"bos_token_id": "1"},
        {"eos_token_id": 1.5},
        {"eos_token_id": True},
        {"add_bos_token": "yes"},
        {"model": 4},
        {"pre": ["gpt-2"]},
    ],
)
def test_damaged_byte_level_metadata_is_a_typed_error(changes: dict[str, Any]) -> None:
    with pytest.raises(ModelCorruptError) as caught:
        byte_level_tokenizer(**changes)
    assert "reason" in caught.value.details


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": None},
        {"scores": [0.0]},
        {"scores": ["a"] * 271},
        {"tokens": ["ab" * 15_000] + ["x"] * 270},
    ],
)
def test_damaged_sentencepiece_metadata_is_a_typed_error(changes: dict[str, Any]) -> None:
    with pytest.raises(ModelCorruptError):
        sentencepiece_tokenizer(**changes)


def test_odd_but_harmless_metadata_is_accepted() -> None:
    merges = ["h e", "no such", "nospace", "", " ", "l l", "he ll", "hell o"]
    assert spelled(byte_level_tokenizer(merges=merges), "hello") == ["hello"]
    pieces = byte_level_metadata()["tokenizer.ggml.tokens"]
    doubled = byte_level_tokenizer(tokens=[*pieces[:263], "he"], token_type=[1] * 264)
    assert doubled.encode("he", parse_special=False) == [256]
    nan = sentencepiece_tokenizer(scores=[float("nan")] * 271)
    assert nan.encode("hello", parse_special=False)


_VALUES = st.one_of(
    st.none(),
    st.integers(-2, 400),
    st.text(max_size=5),
    st.booleans(),
    st.lists(st.text(max_size=4), max_size=300),
    st.lists(st.integers(-2, 9), min_size=264, max_size=271),
    st.lists(st.floats(), min_size=264, max_size=271),
)


@given(
    st.sampled_from(["gpt2", "llama"]),
    st.dictionaries(
        st.sampled_from(
            ["pre", "tokens", "token_type", "merges", "scores", "bos_token_id", "eos_token_id"]
        ),
        _VALUES,
        max_size=3,
    ),
)
def test_any_metadata_gives_a_tokenizer_or_a_typed_error(
    model: str, changes: dict[str, Any]
) -> None:
    build = byte_level_tokenizer if model == "gpt2" else sentencepiece_tokenizer
    try:
        tokenizer = build(**changes)
    except EngineError:
        return
    ids = tokenizer.encode("hello é 😀 <|im_end|>", parse_special=True)
    assert all(0 <= token_id < tokenizer.vocab_size for token_id in ids)
