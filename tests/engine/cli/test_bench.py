"""What the bench refuses before it measures, and how many streams it lets run at once."""

import argparse
from dataclasses import replace

import pytest

from engine.api import FinishReason, Timeline
from engine.cli.arguments import parse
from engine.cli.bench import bench_options, check_room, compare_guessing, decode_rate
from engine.cli.session import Answer
from engine.errors import InvalidRequestError
from tests.helpers.fake_model import make_info
from tests.helpers.scheduling import make_config

# 16 blocks of 4 tokens
INFO = make_info("fake.gguf", make_config(), 100)


def _options(prompt: int, new: int, streams: int) -> argparse.Namespace:
    words = f"bench --model x --prompt-tokens {prompt} --new-tokens {new} --streams {streams}"
    return parse(words.split())


def test_all_streams_run_at_once() -> None:
    assert bench_options(_options(1, 1, 100)).max_streams == 100
    assert bench_options(_options(1, 1, 1)).max_streams >= 1


@pytest.mark.parametrize(("prompt", "new", "streams"), [(40, 7, 1), (4, 1, 5), (4, 3, 5)])
def test_what_fits_is_measured(prompt: int, new: int, streams: int) -> None:
    check_room(INFO, _options(prompt, new, streams))


@pytest.mark.parametrize(
    ("prompt", "new", "streams", "reason"),
    [
        (40, 8, 1, "context"),
        (4, 1, 8, "kv cache"),  # 16 blocks, and none to spare
        (1, 1, 20, "kv cache"),  # 60 tokens of 64, in 20 blocks of 16
    ],
)
def test_what_would_wait_or_be_preempted_is_refused(
    prompt: int, new: int, streams: int, reason: str
) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        check_room(INFO, _options(prompt, new, streams))
    assert caught.value.details["reason"] == reason


def test_the_room_is_the_cache_and_not_the_context() -> None:
    with pytest.raises(InvalidRequestError):
        check_room(replace(INFO, kv_budget_bytes=INFO.kv_budget_bytes // 2), _options(4, 1, 5))


def _answer(times_ms: list[int], tokens: list[int], drafted: int, accepted: int) -> Answer:
    times = [at * 1_000_000 for at in times_ms]
    line = Timeline(
        sent_ns=0,
        tokenize_start_ns=0,
        tokenize_end_ns=0,
        prefill_start_ns=0,
        prefill_end_ns=times[0],
        first_token_ns=times[0],
        last_token_ns=times[-1],
        load_wait_ns=0,
        num_prompt_tokens=4,
        num_cached_tokens=0,
        num_output_tokens=len(tokens),
        num_drafted_tokens=drafted,
        num_accepted_tokens=accepted,
    )
    return Answer("", tokens, times, FinishReason.MAX_TOKENS, line)


def test_decoding_counts_from_the_moment_every_stream_has_begun() -> None:
    assert decode_rate([[0, 10, 20, 30], [10, 20, 30]]) == 4 * 1e9 / 20
    assert decode_rate([[5], [5]]) is None


def test_what_guessing_gives_is_told_against_the_same_answers_without() -> None:
    plain = [_answer([10, 20, 30, 40, 50], [1, 2, 3, 4, 5], 0, 0)]
    guessed = [_answer([10, 24, 24, 24, 30], [1, 2, 3, 4, 5], 4, 2)]
    figures = compare_guessing(plain, guessed)
    assert (figures["drafted_tokens"], figures["accepted_tokens"]) == (4, 2)
    assert (figures["acceptance"], figures["tokens_per_step"]) == (0.5, 2.0)
    assert figures["guessing_decode_tokens_per_s"] == 200.0
    assert figures["guessing_gain"] == 2.0
    assert figures["same_answers"]
    other = [_answer([10, 20, 30, 40, 50], [1, 2, 3, 4, 6], 0, 0)]
    figures = compare_guessing(other, [_answer([1, 2], [1, 2], 0, 0)])
    assert figures["acceptance"] is None
    assert not figures["same_answers"]


def test_no_prompt_of_a_bench_comes_from_the_cache() -> None:
    assert not bench_options(_options(1, 1, 1)).prefix_cache


def test_a_bench_may_be_told_the_size_of_its_chunks() -> None:
    options = parse(["bench", "--model", "m", "--max-batch-tokens", "64"])
    wanted = bench_options(options)
    assert (wanted.max_batch_tokens, wanted.adaptive_chunks) == (64, False)
    assert bench_options(parse(["bench", "--model", "m"])).adaptive_chunks
