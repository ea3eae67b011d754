"""Percentiles, time lines and gauges."""

import pytest

from engine.metrics import (
    Distribution,
    Marks,
    MemoryGauge,
    Throttle,
    inter_token_latencies,
    overlap_ns,
    percentile,
    summarise,
)


def test_percentiles_are_values_that_occurred() -> None:
    values = list(range(1, 101))
    assert [percentile(values, p) for p in (0.0, 0.5, 0.95, 1.0)] == [1, 50, 95, 100]
    assert percentile([7], 0.95) == 7


def test_summary() -> None:
    assert summarise([3, 1, 2]) == Distribution(2, 3, 3)
    assert summarise([]) is None


def test_inter_token_latencies() -> None:
    assert inter_token_latencies([10, 13, 19]) == [3, 6]
    assert inter_token_latencies([10]) == []


@pytest.mark.parametrize(
    ("other", "expected"), [((0, 5), 0), ((0, 15), 5), ((12, 14), 2), ((5, 99), 10), ((30, 40), 0)]
)
def test_overlap(other: tuple[int, int], expected: int) -> None:
    assert overlap_ns(10, 20, *other) == expected


def test_the_parts_of_a_timeline_add_up() -> None:
    marks = Marks(sent_ns=100, tokenize_start_ns=160, tokenize_end_ns=170, load_wait_ns=50)
    marks.prefill_start_ns = 175
    assert marks.timeline(prompt=5, cached=0, output=0) is None
    marks.note_token(forward_end_ns=200, sampled_ns=203)
    marks.note_token(forward_end_ns=220, sampled_ns=223)
    timeline = marks.timeline(prompt=5, cached=1, output=2)
    assert timeline is not None
    parts = (
        timeline.queue_ns,
        timeline.load_wait_ns,
        timeline.tokenize_ns,
        timeline.prefill_ns,
        timeline.sample_ns,
    )
    assert parts == (15, 50, 10, 25, 3)
    assert sum(parts) == timeline.ttft_ns == 103
    assert timeline.decode_tokens_per_s == pytest.approx(1e9 / 20)
    assert timeline.prefill_tokens_per_s == pytest.approx(4e9 / 25)


def test_memory_is_divided_without_remainder_or_negative_parts() -> None:
    use = MemoryGauge().read()
    assert use.process > 0
    assert use.other_programs >= 0
    assert use.process + use.other_programs <= use.total
    assert 0 < use.available <= use.total


def test_throttle_lets_one_through_each_interval() -> None:
    throttle = Throttle(100)
    assert [throttle.is_due(at) for at in (5, 50, 104, 105, 204, 400)] == [
        True,
        False,
        False,
        True,
        False,
        True,
    ]
