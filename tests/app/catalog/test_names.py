"""Names from elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.catalog.errors import InvalidRepositoryError, UnsafeNameError
from app.catalog.names import bits_of, check_repository, place_in, quant_of, safe_parts, split_of


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("makers/tiny", "makers/tiny"),
        ("  makers/tiny-1.5B_x/ ", "makers/tiny-1.5B_x"),
        ("https://hub.example/makers/tiny", "makers/tiny"),
        ("https://hub.example/makers/tiny/tree/main", "makers/tiny"),
    ],
)
def test_a_repository(typed, name):
    assert check_repository(typed) == name


@pytest.mark.parametrize(
    "typed",
    ["", "tiny", "a/b/c", "../x", "a/..", "a b/c", "a/b?x", "https://hub.example", "a/b.git"],
)
def test_no_repository(typed):
    with pytest.raises(InvalidRepositoryError, match="owner/name"):
        check_repository(typed)


@pytest.mark.parametrize(
    "name",
    [
        *("", "..", "a/../b", "/a", "a//b", "a/", "a\\b", "c:d", "NUL.gguf", "a.", "a ", " a"),
        *("a\0b", "a\u202eb", "x" * 201, "/".join("abcdefghi"), "a\nb", "com1", "a*b"),
    ],
)
def test_an_unsafe_name(name):
    with pytest.raises(UnsafeNameError):
        safe_parts(name)


@given(st.text(max_size=40))
def test_whatever_is_accepted_stays_inside(tmp_path_factory, name):
    folder = tmp_path_factory.getbasetemp() / "inside"
    try:
        place = place_in(folder, name)
    except UnsafeNameError:
        return
    assert folder in place.parents


def test_names_of_any_language_are_kept(tmp_path):
    assert place_in(tmp_path, "модель/模型 🦙.gguf") == tmp_path / "модель" / "模型 🦙.gguf"


def test_split_files():
    assert split_of("a/big-00002-of-00003.gguf") == ("big", 2, 3)
    assert split_of("big-00001-of-00001.gguf") is None
    assert split_of("big.gguf") is None


@pytest.mark.parametrize(
    ("name", "quant", "bits"),
    [
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "Q4_1", 4.8),
        ("gemma-3-270m-q4_k_m.gguf", "Q4_K_M", 4.8),
        ("Qwen3-4B-UD-Q4_K_XL.gguf", "UD-Q4_K_XL", 4.8),
        ("x-IQ4_XS-00001-of-00002.gguf", "IQ4_XS", 4.4),
        ("x-BF16.gguf", "BF16", 16),
        ("x.f16.gguf", "F16", 16),
        ("x-Q8_0.gguf", "Q8_0", 8.5),
        ("Q4_0/x.gguf", "", 16),
        ("x.gguf", "", 16),
    ],
)
def test_the_quantisation_in_a_name(name, quant, bits):
    assert quant_of(name) == quant
    assert bits_of(quant) == bits
