"""Answers bound to a JSON Schema, on a byte-level vocabulary that can spell everything."""

import json
import random

import numpy as np
import pytest

from engine.errors import EngineError, InvalidRequestError
from engine.text.grammar import JsonGrammars, check_schema
from tests.helpers.tiny_tokenizers import byte_level_tokenizer

PERSON = json.dumps(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 12},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "likes": {"type": "array", "items": {"enum": ["sea", "tide"]}, "maxItems": 2},
        },
        "required": ["name", "age", "likes"],
        "additionalProperties": False,
    }
)


@pytest.fixture(scope="module")
def tokenizer():
    return byte_level_tokenizer()


@pytest.fixture(scope="module")
def grammars(tokenizer):
    return JsonGrammars(tokenizer)


def _text(tokenizer, ids):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode()


def _walk(constraint, tokenizer, draw, longest=400):
    """Follow the constraint by chance, ending as soon as it may end."""
    output: list[int] = []
    while len(output) < longest:
        allowed = np.flatnonzero(constraint.allowed(output)).tolist()
        if tokenizer.eos_ids & set(allowed):
            return output
        output.append(draw.choice(allowed))
    raise AssertionError("no end")


def test_a_model_that_loves_digits_comes_to_an_end(grammars, tokenizer):
    schema = {
        "type": "object",
        "properties": {"people": {"type": "integer"}},
        "required": ["people"],
    }
    schema |= {"additionalProperties": False}
    constraint = grammars.constrain(json.dumps(schema))
    output: list[int] = []
    while not tokenizer.eos_ids & set(
        allowed := np.flatnonzero(constraint.allowed(output)).tolist()
    ):
        digits = [i for i in allowed if tokenizer.token_bytes(i).isdigit()]
        output.append((digits or allowed)[-1])
        assert len(output) < 60
    assert abs(json.loads(_text(tokenizer, output))["people"]) < 2**53


def test_limits_of_the_schema_itself_stay(grammars, tokenizer):
    constraint = grammars.constrain('{"type": "integer", "minimum": 9007199254740993}')
    draw = random.Random(1)
    assert int(_text(tokenizer, _walk(constraint, tokenizer, draw))) >= 2**53
    assert grammars.constrain('{"enum": [{"type": "integer"}]}') is not None


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_chosen_the_answer_is_what_the_schema_describes(grammars, tokenizer, seed):
    draw = random.Random(seed)
    document = json.loads(_text(tokenizer, _walk(grammars.constrain(PERSON), tokenizer, draw)))
    assert set(document) == {"name", "age", "likes"}
    assert isinstance(document["name"], str)
    assert 0 <= document["age"] <= 150
    assert set(document["likes"]) <= {"sea", "tide"}


def test_going_back_allows_what_a_fresh_look_allows(grammars, tokenizer):
    draw = random.Random(3)
    constraint = grammars.constrain(PERSON)
    output = _walk(constraint, tokenizer, draw)
    for _ in range(30):
        length = draw.randrange(len(output))
        fresh = grammars.constrain(PERSON).allowed(output[:length])
        assert (constraint.allowed(output[:length]) == fresh).all()


def test_two_answers_do_not_disturb_each_other(grammars, tokenizer):
    first, second = grammars.constrain(PERSON), grammars.constrain('{"const": 5}')
    start = first.allowed([])
    assert _text(tokenizer, _walk(second, tokenizer, random.Random(0))) == "5"
    assert (first.allowed([]) == start).all()


def test_control_tokens_other_than_the_end_are_never_allowed(grammars, tokenizer):
    allowed = grammars.constrain('{"type": "string"}').allowed([])
    special = [i for i in range(tokenizer.vocab_size) if tokenizer.is_special(i)]
    assert special
    assert not any(allowed[i] for i in special)


def test_an_answer_that_left_the_grammar_ends_with_a_sentence(grammars, tokenizer):
    constraint = grammars.constrain('{"const": 5}')
    stray = tokenizer.encode("x", parse_special=False)
    with pytest.raises(EngineError, match="text so far was kept"):
        constraint.allowed(stray)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"type": "nonsense"}', "nonsense"),
        ('{"type": "string", "pattern": "("}', "regex"),
        ('{"a": "' + "x" * (1 << 20) + '"}', "longer than a million"),
        ("[" * 100_000, "not JSON"),
    ],
    ids=["open", "list", "type", "pattern", "long", "deep"],
)
def test_what_is_no_schema_is_refused_with_its_reason(grammars, schema, reason):
    for use in (grammars.constrain, check_schema):
        with pytest.raises(InvalidRequestError, match=reason):
            use(schema)
