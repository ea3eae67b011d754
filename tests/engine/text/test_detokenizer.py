"""What may be shown, and when: the joined text never depends on how it falls into tokens."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text.detokenizer import Detokenizer
from tests.helpers.tiny_tokenizers import byte_level_tokenizer, sentencepiece_tokenizer

BYTES = byte_level_tokenizer(merges=["zz zz"])  # no merge applies: one token a byte
WORDS = sentencepiece_tokenizer()
IM_END = 262
STOPS = st.lists(st.text("ab", min_size=1, max_size=4), max_size=3).map(tuple)


def ids_of(text: str) -> list[int]:
    return BYTES.encode(text, parse_special=False)


def run(ids: list[int], stop: tuple[str, ...] = ()) -> tuple[list[str], str, bool]:
    detokenizer = Detokenizer(BYTES, stop)
    shown = [detokenizer.push(token_id) for token_id in ids]
    return shown, detokenizer.flush(), detokenizer.stopped


def expected(text: str, stop: tuple[str, ...]) -> str:
    """Character by character: cut where the first stop string is complete."""
    for end in range(len(text) + 1):
        done = [s for s in stop if text[:end].endswith(s)]
        if done:
            return text[: end - max(map(len, done))]
    return text


@given(st.text())
def test_bytes_come_together_to_the_whole_text(text: str) -> None:
    shown, rest, stopped = run(ids_of(text))
    assert "".join(shown) == text
    assert (rest, stopped) == ("", False)
    assert "\ufffd" in text or not any("\ufffd" in part for part in shown)


def test_an_emoji_is_held_until_it_is_complete() -> None:
    assert run(ids_of("a😀b"))[0] == ["a", "", "", "", "😀", "b"]


def test_half_a_character_at_the_end_is_dropped() -> None:
    shown, rest, _ = run(ids_of("a😀")[:-1])
    assert ("".join(shown), rest) == ("a", "")


def test_bytes_that_can_never_be_a_character_are_marked() -> None:
    assert "".join(run([0xC3, ord("a")])[0]) != ""
    broken = [*ids_of("a"), *ids_of("😀")[:2], *ids_of("b")]
    assert "".join(run(broken)[0]) == "ab"


def test_control_tokens_are_not_shown() -> None:
    assert run([*ids_of("a"), IM_END, *ids_of("b")])[0] == ["a", "", "b"]


def test_control_tokens_do_not_break_a_character() -> None:
    first, *rest = ids_of("é")
    assert "".join(run([first, IM_END, *rest])[0]) == "é"


@pytest.mark.parametrize(
    ("text", "stop", "shown"),
    [
        ("abc<end>d", ("<end>",), "abc"),
        ("abc<en", ("<end>",), "abc<en"),
        ("abc", ("abc",), ""),
        ("aab", ("ab",), "a"),
        ("abcd", ("abcd", "bc"), "a"),
        ("xab", ("ab", "xab"), ""),
        ("a\nUser:", ("\nUser:",), "a"),
        ("你好。再见", ("。",), "你好"),
        ("abc", ("",), "abc"),
    ],
)
def test_stop_strings(text: str, stop: tuple[str, ...], shown: str) -> None:
    parts, rest, stopped = run(ids_of(text), stop)
    assert "".join(parts) + rest == shown
    assert stopped == (shown != text)


def test_a_possible_stop_string_is_held_back_and_released() -> None:
    parts, rest, stopped = run(ids_of("a<b<e"), ("<end>",))
    assert parts == ["a", "", "<b", "", ""]
    assert (rest, stopped) == ("<e", False)


def test_nothing_is_shown_after_a_stop_string() -> None:
    detokenizer = Detokenizer(BYTES, ("b",))
    assert [detokenizer.push(i) for i in ids_of("abcd")] == ["a", "", "", ""]
    assert detokenizer.stopped
    assert detokenizer.flush() == ""


@given(st.text("abc"), STOPS, st.randoms(use_true_random=False))
def test_the_cut_does_not_depend_on_the_tokens(text: str, stop: tuple[str, ...], rng) -> None:
    parts, rest, stopped = run(ids_of(text), stop)
    whole = "".join(parts) + rest
    assert whole == expected(text, stop)
    assert stopped == any(s in text for s in stop)
    merged = Detokenizer(_Chunks(text, rng), stop)
    chunks = [merged.push(i) for i in range(merged._tokenizer.count)]
    assert "".join(chunks) + merged.flush() == whole


@given(st.text("ab"), STOPS)
def test_what_was_shown_is_always_a_beginning_of_the_answer(
    text: str, stop: tuple[str, ...]
) -> None:
    final = expected(text, stop)
    shown = ""
    for part in run(ids_of(text), stop)[0]:
        shown += part
        assert final.startswith(shown)
        assert not any(s in shown for s in stop)


class _Chunks:
    """A text cut into random tokens."""

    add_space_prefix = False

    def __init__(self, text: str, rng) -> None:
        data = text.encode()
        cuts = sorted(rng.sample(range(len(data) + 1), k=min(3, len(data) + 1)))
        bounds = [0, *cuts, len(data)]
        self._parts = [data[a:b] for a, b in itertools.pairwise(bounds)]
        self.count = len(self._parts)

    def token_bytes(self, token_id: int) -> bytes:
        return self._parts[token_id]

    def is_special(self, _token_id: int) -> bool:
        return False


def test_the_space_sentencepiece_puts_before_a_text_is_not_shown() -> None:
    ids = WORDS.encode("hello hello", parse_special=False)
    assert b"".join(map(WORDS.token_bytes, ids)) == b" hello hello"
    detokenizer = Detokenizer(WORDS)
    assert [detokenizer.push(i) for i in ids] == ["hello", " hello"]
    continued = Detokenizer(WORDS, keep_leading_space=True)
    assert "".join(map(continued.push, ids)) == " hello hello"


def test_only_one_leading_space_goes() -> None:
    ids = WORDS.encode("  hello", parse_special=False)
    detokenizer = Detokenizer(WORDS)
    assert "".join(map(detokenizer.push, ids)) == "  hello"
