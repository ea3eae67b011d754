from dataclasses import replace

import pytest

from engine.api import FinishReason, Timeline
from ui.chat.rows import AnswerStats
from ui.chat.stats_line import describe, describe_stages, duration, rate, reason_words, stages

MS = 1_000_000
TIMELINE = Timeline(
    sent_ns=0,
    tokenize_start_ns=4 * MS,
    tokenize_end_ns=16 * MS,
    prefill_start_ns=17 * MS,
    prefill_end_ns=160 * MS,
    first_token_ns=162 * MS,
    last_token_ns=162 * MS + 83 * 1_000 * MS // 212,
    load_wait_ns=0,
    num_prompt_tokens=2_397,
    num_cached_tokens=2_310,
    num_output_tokens=84,
    first_paint_ns=182 * MS,
)


def test_the_line_of_the_drawing():
    assert describe(AnswerStats(TIMELINE, FinishReason.END_OF_TEXT)) == (
        "84 tokens \u00b7 first token 182 ms \u00b7 212 tokens/s \u00b7 "
        "2,310 of 2,397 prompt tokens from cache \u00b7 ended by itself"
    )


def test_one_token_has_no_speed_and_no_cache_is_said_plainly():
    timeline = replace(TIMELINE, num_output_tokens=1, num_cached_tokens=0, num_prompt_tokens=12)
    assert describe(AnswerStats(timeline, FinishReason.CANCELLED)) == (
        "1 token \u00b7 first token 182 ms \u00b7 12 prompt tokens \u00b7 stopped by you"
    )


def test_without_output_there_is_no_first_token():
    timeline = replace(TIMELINE, num_output_tokens=0)
    assert "first token" not in describe(AnswerStats(timeline, FinishReason.FAILED))


@pytest.mark.parametrize("reason", list(FinishReason))
def test_every_reason_has_words(reason):
    assert reason_words(reason)


@pytest.mark.parametrize(
    ("nanoseconds", "words"),
    [
        (450_000, "0.45 ms"),
        (4_700_000, "4.7 ms"),
        (182_000_000, "182 ms"),
        (999_600_000, "1.0 s"),
        (1_840_000_000, "1.8 s"),
        (12_300_000_000, "12 s"),
        (1_234_000_000_000, "1,234 s"),
    ],
)
def test_durations(nanoseconds, words):
    assert duration(nanoseconds) == words


@pytest.mark.parametrize(
    ("speed", "words"),
    [(4.26, "4.3 tokens/s"), (120.4, "120 tokens/s"), (1_530.0, "1,530 tokens/s")],
)
def test_rates(speed, words):
    assert rate(speed) == words


def test_the_bar_covers_the_whole_answer():
    end = TIMELINE.last_token_ns + (TIMELINE.paint_ns or 0)
    assert sum(stage.duration_ns for stage in stages(TIMELINE)) == end
    assert "model load" not in describe_stages(TIMELINE)
    assert "prefill 145 ms" in describe_stages(TIMELINE)
