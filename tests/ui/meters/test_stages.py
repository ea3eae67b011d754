from dataclasses import replace

import pytest

from tests.helpers.sample_engine import MS, TIMELINE
from ui.meters.stages import prompt_words, ttft_parts


def test_the_parts_add_up_to_the_first_token():
    parts = ttft_parts(TIMELINE)
    assert sum(part.amount for part in parts) == TIMELINE.ttft_ns
    assert [part.label for part in parts] == [
        "queue 5.0 ms",
        "tokenise 6.0 ms",
        "prefill 154 ms",
        "sample 1.0 ms",
        "first paint 16.0 ms",
    ]


def test_loading_is_a_part_only_where_it_happened():
    loaded = replace(TIMELINE, sent_ns=-2_000 * MS, load_wait_ns=2_000 * MS)
    parts = ttft_parts(loaded)
    assert parts[1].label == "load 2.00 s"
    assert sum(part.amount for part in parts) == pytest.approx(loaded.ttft_ns)


def test_before_the_paint_the_paint_is_left_out():
    parts = ttft_parts(replace(TIMELINE, first_paint_ns=None))
    assert parts[-1].label == "sample 1.0 ms"


def test_cached_prompt_tokens_are_told_apart():
    assert prompt_words(TIMELINE) == "2,310 of 2,397 prompt tokens from cache"
    assert prompt_words(replace(TIMELINE, num_cached_tokens=0)) == "2,397 prompt tokens"
