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


def test_decode_is_divided_into_the_models_share_and_the_hosts() -> None:
    marks = Marks(sent_ns=0, tokenize_start_ns=1, tokenize_end_ns=4, template_ns=2)
    marks.prefill_start_ns, marks.forward_at_start_ns = 5, 1_000
    marks.note_token(20, 21, forward_total_ns=1_012)
    marks.note_text(21, 22)
    marks.note_token(30, 33, forward_total_ns=1_020)
    marks.note_token(30, 33, forward_total_ns=1_020)  # guessed: chosen in the same step
    marks.note_text(34, 36)
    line = marks.timeline(prompt=5, cached=0, output=3)
    assert line is not None
    assert (line.template_ns, line.detokenize_ns, line.end_ns) == (2, 3, 36)
    assert (line.prefill_forward_ns, line.decode_forward_ns, line.decode_sample_ns) == (12, 8, 3)
    assert line.decode_host_ns == line.decode_ns - 8 == 4


def test_what_was_not_measured_is_not_said() -> None:
    marks = Marks(0, 1, 2, prefill_start_ns=3)
    marks.note_token(4, 5)
    line = marks.timeline(prompt=1, cached=0, output=1)
    assert line is not None
    assert line.prefill_forward_ns is line.decode_forward_ns is line.decode_host_ns is None
    assert line.end_ns == line.last_token_ns
