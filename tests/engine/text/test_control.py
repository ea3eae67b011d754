"""Control tokens in text: found where they are meant, impossible where they are not."""

from hypothesis import given
from hypothesis import strategies as st

from engine.text.control import ControlTokens, unused_guard

GUARD = "\ufdd0"
IDS = {"<s>": 1, "<s><s>": 2, "[INST]": 3, "<|end|>": 4, "|": 9}
CONTROL = ControlTokens(IDS)
FRAGMENTS = st.lists(
    st.sampled_from([*IDS, "<", "s>", "<|", "end|>", "[INS", "T]", "|>", "a", " ", "\n", "é"])
).map("".join)


def test_the_longest_match_wins() -> None:
    assert list(CONTROL.split("a<s><s>b[INST]")) == [
        ("a", None),
        ("<s><s>", 2),
        ("b", None),
        ("[INST]", 3),
    ]


def test_one_character_is_no_control_token_in_text() -> None:
    assert list(CONTROL.split("a|b")) == [("a|b", None)]
    assert "|" not in CONTROL.strings


def test_nothing_to_find() -> None:
    assert list(ControlTokens({}).split("abc")) == [("abc", None)]
    assert ControlTokens({}).shield("abc", GUARD) == "abc"
    assert list(CONTROL.split("")) == []


def test_white_space_is_swallowed_where_a_token_says_so() -> None:
    control = ControlTokens({"<l>": 1, "<r>": 2}, {"<l>": (True, False), "<r>": (False, True)})
    assert list(control.split("a  <l>  b")) == [("a", None), ("<l>", 1), ("  b", None)]
    assert list(control.split("a  <r>  b")) == [("a  ", None), ("<r>", 2), ("b", None)]
    assert list(control.split("<r>  ")) == [("<r>", 2)]


@given(FRAGMENTS)
def test_splitting_loses_nothing(text: str) -> None:
    pieces = list(CONTROL.split(text))
    assert "".join(piece for piece, _ in pieces) == text
    assert all(token is None or IDS[piece] == token for piece, token in pieces)


@given(FRAGMENTS, FRAGMENTS)
def test_shielded_text_holds_no_control_token_even_joined_with_other_text(
    text: str, other: str
) -> None:
    shielded = CONTROL.shield(text, GUARD)
    assert shielded.replace(GUARD, "") == text
    joined = CONTROL.shield(other, GUARD) + shielded
    assert [token for _, token in CONTROL.split(joined) if token is not None] == []


@given(FRAGMENTS, st.sampled_from(["<s", "[INS", "<|en"]))
def test_a_template_cannot_complete_a_token_with_what_was_typed(text: str, before: str) -> None:
    for joined in (before + CONTROL.shield(text, GUARD), CONTROL.shield(text, GUARD) + "s>"):
        assert all(token is None for _, token in CONTROL.split(joined))


def test_a_guard_that_is_in_no_text() -> None:
    assert unused_guard([]) == "\ufdd0"
    assert unused_guard(["a\ufdd0", "\ufdd1"]) == "\ufdd2"
    assert unused_guard(["".join(map(chr, range(0xFDD0, 0xFDF0)))]) is None
