"""Events become answers and figures, whatever engine they come from."""

from dataclasses import replace

import pytest

from engine.api import (
    Failure,
    Finished,
    FinishReason,
    RequestFailed,
    Timeline,
    TokensProduced,
)
from engine.cli.session import Answer, ReportedFailureError, itl_ms

MS = 1_000_000
TIMELINE = Timeline(
    sent_ns=0,
    tokenize_start_ns=1 * MS,
    tokenize_end_ns=3 * MS,
    prefill_start_ns=4 * MS,
    prefill_end_ns=14 * MS,
    first_token_ns=15 * MS,
    last_token_ns=35 * MS,
    load_wait_ns=0,
    num_prompt_tokens=30,
    num_cached_tokens=10,
    num_output_tokens=3,
)


def finished_answer() -> Answer:
    answer = Answer()
    answer.take(TokensProduced("1", "a", (5,), (15 * MS,), is_first=True))
    answer.take(TokensProduced("1", "bc", (6, 7), (20 * MS, 35 * MS)))
    answer.take(Finished("1", FinishReason.MAX_TOKENS, TIMELINE))
    return answer


def test_an_answer_gathers_its_events() -> None:
    answer = finished_answer()
    assert (answer.text, answer.token_ids) == ("abc", [5, 6, 7])
    assert answer.finish_reason is FinishReason.MAX_TOKENS


def test_the_parts_add_up_to_ttft() -> None:
    metrics = finished_answer().metrics()
    assert metrics["ttft_ms"] == 15
    assert metrics["ttft_parts_ms"] == {
        "queue": 2.0,
        "load": 0.0,
        "tokenize": 2.0,
        "prefill": 10.0,
        "sample": 1.0,
    }
    assert metrics["itl_ms"] == {"p50": 5.0, "p95": 15.0, "max": 15.0}
    assert metrics["prefill_tokens_per_s"] == 2_000
    assert metrics["decode_tokens_per_s"] == 100
    assert (metrics["prompt_tokens"], metrics["cached_tokens"]) == (30, 10)
    assert metrics["output_tokens"] == 3


def test_guesses_are_told_where_any_were_made() -> None:
    assert "accepted_tokens" not in finished_answer().metrics()
    answer = Answer()
    line = replace(TIMELINE, num_drafted_tokens=4, num_accepted_tokens=1, plain_step_ns=11 * MS)
    answer.take(Finished("1", FinishReason.MAX_TOKENS, line))
    metrics = answer.metrics()
    assert (metrics["drafted_tokens"], metrics["accepted_tokens"]) == (4, 1)
    assert metrics["tokens_per_step"] == 2.0
    assert metrics["guessing_gain"] == pytest.approx(1.1)


def test_an_answer_without_tokens_has_no_speed() -> None:
    answer = Answer()
    answer.take(Finished("1", FinishReason.CANCELLED, None))
    assert answer.metrics() == {"output_tokens": 0, "itl_ms": None}


def test_latencies_of_several_answers_are_one_distribution() -> None:
    assert itl_ms([[0, MS], [0, 3 * MS]]) == {"p50": 1.0, "p95": 3.0, "max": 3.0}
    assert itl_ms([[0], []]) is None


def test_a_failed_request_is_raised() -> None:
    failure = Failure("prompt_too_long", "Too long.", {"needed": 2, "limit": 1})
    with pytest.raises(ReportedFailureError, match="Too long") as caught:
        Answer().take(RequestFailed("1", failure))
    assert caught.value.details == {"needed": 2, "limit": 1}
