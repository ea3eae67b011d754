"""Every listed split compiles, loses nothing, and cuts as its family does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.text.pretokenizers import SPLITS
from tests.helpers.tiny_tokenizers import byte_alphabet

ALPHABET = byte_alphabet()
TEXT = "I'm HERE, camelCase 12345\n\n  x 你好!"


def cut(name: str, text: str) -> list[str]:
    """The words of ``text``, spelled in plain text again."""
    values = {char: byte for byte, char in enumerate(ALPHABET)}
    words = (word for word, _ in SPLITS[name].pre_tokenizer().pre_tokenize_str(text))
    return [bytes(values[char] for char in word).decode("utf-8", "replace") for word in words]


@pytest.mark.parametrize("name", SPLITS)
@settings(max_examples=25)
@given(text=st.text(max_size=60))
def test_the_words_joined_are_the_text(name: str, text: str) -> None:
    assert "".join(cut(name, text)) == text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt-2", "I~'m~ HERE~,~ camelCase~ 12345~\n\n ~ x~ 你好~!"),
        ("falcon", "I~'~m~ HERE~,~ camelCase~ ~123~45~\n\n ~ x~ 你好~!"),
        ("bloom", "I'm~ HERE~,~ camelCase~ 12345~\n\n ~ x~ 你好~!"),
        ("viking", "I'm~ HERE~,~ camelCase~ ~1~2~3~4~5~\n\n ~ x~ 你好~!"),
        ("smollm", "I~'m~ HERE~,~ camelCase~ ~1~2~3~4~5~\n\n ~ x~ 你好~!"),
        ("llama-bpe", "I~'m~ HERE~,~ camelCase~ ~123~45~\n\n~ ~ x~ 你好~!"),
        ("qwen2", "I~'m~ HERE~,~ camelCase~ ~1~2~3~4~5~\n\n~ ~ x~ 你好~!"),
        ("tekken", "I~'m~ HERE~,~ camel~Case~ ~1~2~3~4~5~\n\n~ ~ x~ 你好~!"),
        ("gpt-4o", "I'm~ HERE~,~ camel~Case~ ~123~45~\n\n~ ~ x~ 你好~!"),
        ("deepseek-v3", "I~'m~ HERE~,~ camelCase~ ~123~45~\n\n~ ~ x~ ~你好~!"),
        ("deepseek-llm", "I~'~m~ HERE~,~ camelCase~ ~12345~\n~\n~ ~ x~ ~你好~!"),
    ],
)
def test_families_cut_as_they_should(name: str, words: str) -> None:
    assert cut(name, TEXT) == words.split("~")


def test_only_composing_families_compose() -> None:
    assert SPLITS["qwen2"].normalizer() is not None
    assert SPLITS["llama3"].normalizer() is None
