"""Gaps in short, with figures that can be counted by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.api import PaintUse, Stall, StallCause
from tests.helpers.observations import MS
from ui.inspector.answer.gaps import (
    MOST_BUCKETS,
    MOST_STALLS,
    NUM_BINS,
    bin_words,
    buckets_of,
    cause_words,
    gaps_of,
    nice_ceiling,
    speed_words,
    stalls_text,
    table_of,
)

GAPS = [10 * MS] * 49 + [150 * MS] + [10 * MS] * 50
STALL = Stall(50, 0, 150 * MS, StallCause.COLLECTOR)


def test_percentiles_are_gaps_that_occurred():
    shown = gaps_of(GAPS, [STALL])
    assert (shown.p50_ns, shown.p95_ns, shown.p99_ns, shown.max_ns) == (
        10 * MS, 10 * MS, 10 * MS, 150 * MS,
    )  # fmt: skip
    assert shown.ceiling_ns == 40 * MS
    assert not shown.has_shared
    assert shown.sentence().endswith("the longest 150 ms. 1 is a stall.")


def test_of_nothing_there_is_nothing():
    assert gaps_of([], []) is None


def test_steps_that_give_several_tokens_are_known():
    assert gaps_of([0, 0, 0, 9 * MS], []).has_shared
    assert gaps_of([0, 0, 0], []).ceiling_ns > 0


@given(st.lists(st.integers(0, 10**10), min_size=1, max_size=700))
def test_no_gap_is_lost_however_many_there_are(gaps):
    shown = gaps_of(gaps, [])
    assert len(shown.buckets) <= MOST_BUCKETS
    assert max(bucket.high_ns for bucket in shown.buckets) == max(gaps) == shown.max_ns
    assert shown.buckets[0].first == 1
    assert shown.buckets[-1].last == len(gaps)
    assert sum(part.count for part in shown.bins) == len(gaps)
    assert len(shown.bins) in {NUM_BINS, NUM_BINS + 1}
    assert shown.p50_ns <= shown.p95_ns <= shown.p99_ns <= shown.max_ns


def test_ten_thousand_gaps_keep_each_stall():
    gaps = [10 * MS] * 10_000
    gaps[777] = 900 * MS
    (worst,) = [b for b in buckets_of(gaps) if b.high_ns == 900 * MS]
    assert worst.first <= 778 <= worst.last


@pytest.mark.parametrize(
    ("value", "ceiling"), [(0, 1), (11 * MS, 15 * MS), (40 * MS, 40 * MS), (901 * MS, 1_000 * MS)]
)
def test_ceilings_are_round(value, ceiling):
    assert nice_ceiling(value) == pytest.approx(ceiling)


def test_stalls_are_told_in_words_the_longest_of_many():
    assert stalls_text([STALL]) == "\u25b2 token 51: 150 ms, Python collected garbage"
    many = [Stall(n, 0, (100 + n) * MS, StallCause.UNKNOWN) for n in range(1, MOST_STALLS + 3)]
    lines = stalls_text(many).splitlines()
    assert lines[0].startswith("\u25b2 cause not known: tokens 4 (103 ms), 5 (104 ms), ")
    assert lines[0].count(" ms)") == MOST_STALLS
    assert lines[1:] == ["and 2 shorter ones"]
    assert stalls_text([STALL, many[0]]).splitlines() == [
        "\u25b2 token 2: 101 ms, cause not known",
        "\u25b2 token 51: 150 ms, Python collected garbage",
    ]


def test_every_cause_has_words_of_its_own():
    assert len({cause_words(cause) for cause in StallCause}) == len(StallCause)


def test_the_engine_and_the_window_are_told_apart():
    words = speed_words(212.0, PaintUse(30, 9 * MS, 12 * MS, 31 * MS))
    assert words.splitlines() == [
        "Engine: 212 tok/s.",
        "Window: a token is on the screen 9.0 ms after its choice, at most 31.0 ms (30 paints).",
    ]
    assert "nothing of this answer" in speed_words(None, None)


def test_the_table_has_percentiles_and_bins_that_are_not_empty():
    shown = gaps_of(GAPS, [])
    rows = dict(table_of(shown).rows)
    assert rows["p99"] == "10.0 ms"
    assert rows["longest"] == "150 ms"
    assert sum(int(n) for name, n in table_of(shown).rows[4:]) == 100
    assert bin_words(shown.bins[-1]) == "15.0 ms and more"
