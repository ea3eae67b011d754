"""Which turns are left out: whole ones, as the policy says, counted on the rendered prompt."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from engine.api import GenerationRequest, LeftOut, Message, Overflow, SamplingParams
from engine.text.overflow import fit_messages

TURN = 20  # tokens of a turn below: a question of 10, an answer of 10


def _encode(messages: Sequence[Message]) -> list[int]:
    """A token a letter, one for the beginning of each message, one for the answer to come."""
    return [ord(c) for m in messages for c in f"<{m.content}"] + [0]


def _chat(turns: int, system: str = "") -> list[Message]:
    messages = [Message("system", system)] if system else []
    for turn in range(turns):
        messages.append(Message("user", f"q{turn:08d}"))
        messages.append(Message("assistant", f"a{turn:08d}"))
    return [*messages, Message("user", "last?")]


def _fit(
    messages: Sequence[Message], limit: int, overflow: Overflow, max_tokens: int | None = None
) -> tuple[list[int], LeftOut | None]:
    request = GenerationRequest(
        "a",
        0,
        SamplingParams(max_tokens=max_tokens),
        messages=tuple(messages),
        overflow=overflow,
    )
    return fit_messages(request, _encode(messages), limit, _encode)


@pytest.mark.parametrize("overflow", list(Overflow))
def test_what_fits_is_left_alone(overflow: Overflow) -> None:
    messages = _chat(3, "sys")
    whole = _encode(messages)
    assert _fit(messages, len(whole) * 4 // 3 + 1, overflow) == (whole, None)
    assert _fit(messages, len(whole) + 1, overflow, max_tokens=1) == (whole, None)


def test_stop_leaves_nothing_out() -> None:
    messages = _chat(9)
    assert _fit(messages, 40, Overflow.STOP) == (_encode(messages), None)


def test_the_oldest_turns_go_and_the_system_prompt_stays() -> None:
    messages = _chat(10, "sys")
    prompt, left_out = _fit(messages, 160, Overflow.DROP_OLDEST)
    assert left_out is not None
    assert left_out.first == 1
    kept = [messages[0], *messages[1 + left_out.num_messages :]]
    assert kept[1].role == "user"
    assert prompt == _encode(kept)
    assert left_out.num_tokens == len(_encode(messages)) - len(prompt)
    assert len(prompt) + 40 <= 160


def test_both_ends_stay() -> None:
    messages = _chat(10, "sys")
    prompt, left_out = _fit(messages, 160, Overflow.KEEP_ENDS)
    assert left_out is not None
    assert left_out.first == 3
    kept = [*messages[:3], *messages[3 + left_out.num_messages :]]
    assert prompt == _encode(kept)
    assert kept[-1] == messages[-1]


def test_the_cut_stays_where_it_is_for_several_turns() -> None:
    """So that the prompts begin alike, and what is cached of one serves the next."""
    cuts = []
    for turns in range(20, 60):
        prompt, left_out = _fit(_chat(turns), 400, Overflow.DROP_OLDEST)
        assert left_out is not None
        assert len(prompt) + 100 <= 400
        assert len(prompt) >= 400 - 100 - 50 - TURN
        cuts.append(left_out.num_messages)
    changes = sum(one != other for one, other in pairwise(cuts))
    assert changes <= 40 * TURN / 50
    assert cuts == sorted(cuts)


def test_a_last_question_that_leaves_little_room_is_asked_alone() -> None:
    messages = [*_chat(4)[:-1], Message("user", "x" * 90)]
    prompt, left_out = _fit(messages, 100, Overflow.DROP_OLDEST)
    assert left_out == LeftOut(0, 8, 80)
    assert prompt == _encode(messages[-1:])


@pytest.mark.parametrize("overflow", list(Overflow))
def test_a_last_question_that_is_too_long_by_itself_is_not_cut(overflow: Overflow) -> None:
    messages = [*_chat(4)[:-1], Message("user", "x" * 200)]
    assert _fit(messages, 100, overflow) == (_encode(messages), None)
    assert _fit(messages[-1:], 100, overflow) == (_encode(messages[-1:]), None)


def test_an_answer_that_goes_on_keeps_its_question() -> None:
    messages = [*_chat(6), Message("assistant", "so far")]
    prompt, left_out = _fit(messages, 60, Overflow.DROP_OLDEST)
    assert left_out is not None
    assert prompt == _encode(messages[left_out.num_messages :])
    assert messages[left_out.num_messages].role == "user"
