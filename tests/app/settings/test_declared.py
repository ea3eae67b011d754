"""Every declaration is complete and its default valid."""

import pytest

from app.settings.declared import FIELDS, REMEMBERED, SHOWN_SECTIONS, problem_with

SHOWN = [field for section in SHOWN_SECTIONS for field in section.fields]


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS.keys())
def test_the_default_is_valid(field):
    assert problem_with(field, field.default) is None


@pytest.mark.parametrize("field", SHOWN, ids=lambda field: field.key)
def test_what_is_shown_is_explained(field):
    assert field.label
    assert field.help.endswith(".")
    if field.kind in {"int", "float"}:
        assert field.minimum is not None
        assert field.maximum is not None
        assert field.step is not None
    if field.kind == "choice":
        assert len(field.choices) > 1


def test_keys_are_unique():
    assert len(FIELDS) == len(SHOWN) + len(REMEMBERED.fields)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("temperature", 2.5),
        ("temperature", float("nan")),
        ("temperature", "hot"),
        ("temperature", None),
        ("temperature", True),
        ("top_k", 1.5),
        ("top_k", -1),
        ("kv_cache", 1),
        ("weights", "int3"),
        ("system_prompt", 7),
        ("context_length", 10),
        ("seed", []),
    ],
)
def test_invalid_values(key, value):
    assert problem_with(FIELDS[key], value) is not None


@pytest.mark.parametrize(
    ("key", "value"),
    [("seed", None), ("temperature", 1), ("context_length", 4096), ("zoom", 1.25)],
)
def test_valid_values(key, value):
    assert problem_with(FIELDS[key], value) is None
