"""Stages as lanes and rows, with figures that can be added up by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.api import ChunkTime
from tests.helpers.observations import MS, make_timeline
from ui.inspector.answer.lanes import (
    MOST_CHUNK_ROWS,
    exact_ms,
    pipeline_of,
    share_words,
    shares,
)

LINE = make_timeline(queue=50, prefill=100, decode=1_000, prompt=100, cached=60)


def test_every_stage_has_a_lane_in_order_and_the_rows_add_up():
    shown = pipeline_of(LINE)
    names = [lane.name for lane in shown.lanes]
    assert names == [
        "queue", "template", "tokenize", "prefill", "first_sample", "decode", "detokenize",
    ]  # fmt: skip
    assert sum(row.duration_ns for row in shown.rows) == shown.total_ns
    assert sum(row.tenths for row in shown.rows) == 1_000
    assert shown.first_ns == LINE.ttft_ns


def test_loading_has_a_lane_where_there_was_any():
    line = replace(LINE, load_wait_ns=20 * MS)
    shown = pipeline_of(line)
    assert shown.lanes[0].name == "load"
    assert sum(row.duration_ns for row in shown.rows) == shown.total_ns


def test_painting_goes_on_beside_decoding_and_counts_for_nothing():
    line = replace(LINE, first_paint_ns=LINE.first_token_ns + 9 * MS)
    shown = pipeline_of(line)
    assert shown.lanes[-1].name == "paint"
    assert shown.lanes[-1].start_ns == LINE.first_token_ns
    assert shown.rows[-1].tenths is None
    assert share_words(None) == "\u2014"
    assert sum(row.tenths or 0 for row in shown.rows) == 1_000


def test_chunks_are_parts_of_the_prefill_with_their_place_and_speed():
    chunks = (
        ChunkTime(52 * MS, 102 * MS, 60, 25),
        ChunkTime(112 * MS, 152 * MS, 85, 15),
    )
    shown = pipeline_of(LINE, chunks)
    prefill = next(lane for lane in shown.lanes if lane.name == "prefill")
    assert prefill.pieces[0].lines == (
        "chunk 1 of 2: 50.00 ms",
        "begins 52.00 ms after Send",
        "tokens 61 to 85 of the prompt",
        "500 tok/s",
    )
    parts = [row for row in shown.rows if row.is_part]
    assert [row.label for row in parts] == ["chunk 1", "chunk 2"]
    assert shown.chunks == (25, 15)
    assert shown.num_cached == 60


def test_many_chunks_are_drawn_and_not_listed():
    chunks = [ChunkTime(n * MS, (n + 1) * MS, n, 1) for n in range(MOST_CHUNK_ROWS + 1)]
    shown = pipeline_of(LINE, chunks)
    assert not any(row.is_part for row in shown.rows)
    assert len(shown.chunks) == len(chunks)


def test_the_sentence_names_the_longest_stage():
    assert pipeline_of(LINE).sentence == (
        "First token after 153\u00a0ms, complete after 1.15\u00a0s; decode took 86.6% of it."
    )


def test_an_answer_under_way_is_not_called_complete():
    shown = pipeline_of(LINE, is_complete=False)
    assert "complete" not in shown.sentence
    assert "1.15\u00a0s so far" in shown.sentence
    assert (shown.total_label, pipeline_of(LINE).total_label) == ("so far", "whole answer")


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=12))
def test_shares_are_near_the_truth_and_add_up(durations):
    given_shares = shares(durations)
    total = sum(durations)
    assert sum(given_shares) == (1_000 if total else 0)
    for share, duration in zip(given_shares, durations, strict=True):
        assert abs(share - (1_000 * duration / total if total else 0)) < 1


@pytest.mark.parametrize(
    ("ns", "words"), [(0, "0.00"), (5_000, "0.01"), (1_234_567_890, "1,234.57")]
)
def test_exact_figures(ns, words):
    assert exact_ms(ns) == words
