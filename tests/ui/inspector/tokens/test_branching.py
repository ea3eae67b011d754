"""An answer with another token at one place."""

import pytest

from tests.helpers.inspected_tokens import ANSWER, TEMPLATE, choice, plain, scored, some_tokens
from ui.inspector.tokens.branching import Branch, Obstacle, branch_at

TOKENS = some_tokens()
NO = choice(b"No", 0.1)


def test_the_text_before_stays():
    assert branch_at(TOKENS, 3, NO, "Yes, sir") == Branch("No", ends=False)
    assert branch_at(TOKENS, 4, NO, "Yes, sir") == Branch("YesNo", ends=False)
    assert branch_at(TOKENS, 5, choice(b" madam", 0.1), "Yes, sir") == Branch("Yes, madam", False)


def test_a_special_choice_ends_it():
    end = choice(b"<|e|>", 0.5, is_special=True)
    assert branch_at(TOKENS, 5, end, "Yes, sir") == Branch("Yes,", ends=True)
    assert branch_at(TOKENS, 3, end, "Yes, sir") == Branch("", ends=True)


def test_characters_in_parts():
    tokens = (plain(b"\xe4\xbd", ANSWER), plain(b"\xa0", ANSWER))
    content = "你"
    assert branch_at(tokens, 0, choice(b"\xe4", 0.1), content) is Obstacle.PARTIAL
    assert branch_at(tokens, 1, choice(b"\xa0", 0.1), content) == Branch("你", ends=False)
    assert branch_at(tokens, 1, NO, content) is Obstacle.PARTIAL


def test_a_choice_without_text():
    assert branch_at(TOKENS, 3, choice(b"", 0.1), "Yes, sir") is Obstacle.EMPTY


def test_the_first_space_is_no_text_of_the_answer():
    tokens = (plain(b" Yes", ANSWER), plain(b" sir", ANSWER))
    assert branch_at(tokens, 0, choice(b" No", 0.1), "Yes sir") == Branch("No", ends=False)
    assert branch_at(tokens, 1, choice(b" No", 0.1), "Yes sir") == Branch("Yes No", ends=False)


def test_a_reasoning_cannot_branch_and_the_answer_behind_it_can():
    tokens = (
        plain(b"<think>", TEMPLATE, is_special=True),
        scored(b"hm Yes", 0.5, 1.0),
        scored(b"\n\n", 0.5, 1.0),
        scored(b"Yes", 0.5, 1.0),
        scored(b"!", 0.5, 1.0),
    )
    assert branch_at(tokens, 1, NO, "Yes!") is Obstacle.REASONING
    assert branch_at(tokens, 2, NO, "Yes!") is Obstacle.REASONING
    assert branch_at(tokens, 3, NO, "Yes!") == Branch("No", ends=False)
    assert branch_at(tokens, 4, choice(b"?", 0.1), "Yes!") == Branch("Yes?", ends=False)


def test_a_stop_string_behind_the_text_changes_nothing():
    tokens = (*TOKENS, plain(b"STOP", ANSWER))
    assert branch_at(tokens, 5, NO, "Yes, sir") == Branch("Yes,No", ends=False)


@pytest.mark.parametrize("content", ["", "something else"])
def test_tokens_that_say_something_else_stand_for_themselves(content):
    assert branch_at(TOKENS, 4, NO, content) == Branch("YesNo", ends=False)
