from dataclasses import replace

import pytest

from engine.api import CacheMiss, FinishReason, LeftOut, MissKind, Timeline
from ui.chat.rows import AnswerStats
from ui.chat.stats_line import (
    describe,
    describe_reuse,
    describe_stages,
    duration,
    left_out_words,
    rate,
    reason_words,
    stages,
)

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


@pytest.mark.parametrize("kind", list(MissKind))
def test_every_lost_hit_has_a_sentence(kind):
    timeline = replace(TIMELINE, cache_miss=CacheMiss(kind, 1_230, 1_167))
    words = describe_reuse(timeline)
    assert words.startswith("2,310 of 2,397 prompt tokens came from the cache. ")
    assert words.endswith(".")
    has_figure = kind not in {MissKind.FIRST_TURN, MissKind.SHORT, MissKind.CACHE_OFF}
    assert ("1,167 tokens were read anew" in words) == has_figure
    assert ("token 1,230" in words) == (kind in {MissKind.TEXT_CHANGED, MissKind.EVICTED})


@pytest.mark.parametrize(
    ("role", "words"),
    [
        ("system", " It begins in the system prompt."),
        ("user", " It begins in your message 3."),
        ("assistant", " It begins in answer 3."),
        (None, " tokens were read anew."),
    ],
)
def test_the_message_of_a_difference_is_named(role, words):
    miss = CacheMiss(MissKind.TEXT_CHANGED, 1_230, 1_167, role, 3)
    assert describe_reuse(replace(TIMELINE, cache_miss=miss)).endswith(words)


def test_an_unexpected_loss_shows_in_the_line_and_a_first_turn_does_not():
    evicted = replace(TIMELINE, cache_miss=CacheMiss(MissKind.EVICTED, 16, 60))
    line = describe(AnswerStats(evicted, FinishReason.END_OF_TEXT))
    assert "2,310 of 2,397 prompt tokens from cache (displaced)" in line
    first = replace(TIMELINE, cache_miss=CacheMiss(MissKind.FIRST_TURN, 0, 60))
    assert describe(AnswerStats(first, FinishReason.FAILED)).count("(") == 0
    assert describe_reuse(TIMELINE) == "2,310 of 2,397 prompt tokens came from the cache."


def test_what_was_left_out_is_counted():
    assert left_out_words(LeftOut(1, 3, 1_204)) == (
        "3 earlier messages (1,204 tokens) were left out of this answer"
    )
    assert left_out_words(LeftOut(1, 1, 9)).startswith("1 earlier message (9 tokens) was")
