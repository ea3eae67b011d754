"""Failures of the library in words."""

import pytest

from app.catalog import errors
from app.controllers.library_words import words_for_library
from engine.errors import ModelCorruptError

ALL = (
    errors.missing("a/b"),
    errors.gated("a/b"),
    errors.denied("a/b"),
    errors.unreachable("no connection"),
    errors.busy(0),
    errors.busy(7),
    errors.fault("status 503"),
    errors.disk_full(7 << 30, 1 << 30),
    errors.damaged("x.gguf"),
    errors.unsafe_name("../x"),
    errors.of_disk(PermissionError(13, "Permission denied"), "/x", 1, 1),
)


@pytest.mark.parametrize("error", ALL, ids=lambda error: error.code)
def test_each_is_one_sentence_or_two_with_its_values(error):
    words = words_for_library(error)
    assert words.endswith(".")
    assert "{" not in words
    for key, value in error.details.items():
        if isinstance(value, str):
            assert value in words, key


def test_others_are_told_as_elsewhere():
    words = words_for_library(ModelCorruptError("Bad.", path="/x/a.gguf", reason="it ends"))
    assert "a.gguf is damaged or incomplete (it ends)" in words
    assert "strange" in words_for_library(ValueError("strange"))
