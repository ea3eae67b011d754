"""A draft model reads as much at once as takes a moment, whatever its speed."""

import pytest

from engine.speculative.reading import ReadingPace


def _settle(pace, token_ns, fixed_ns=0):
    for _ in range(12):
        pace.note(pace.chunk, fixed_ns + token_ns * pace.chunk)
    return pace.chunk


@pytest.mark.parametrize(
    ("token_ns", "chunk"), [(1_000, 2_048), (100_000, 300), (1_000_000, 30), (50_000_000, 4)]
)
def test_a_pass_takes_thirty_milliseconds(token_ns, chunk):
    assert _settle(ReadingPace(2_048), token_ns) == chunk


def test_what_a_pass_costs_anyway_is_counted():
    chunk = _settle(ReadingPace(2_048), 100_000, fixed_ns=10_000_000)
    assert chunk == pytest.approx(200, abs=10)


def test_short_passes_tell_nothing():
    pace = ReadingPace(512)
    before = pace.chunk
    for _ in range(9):
        pace.note(2, 9_000_000)
    assert pace.chunk == before


def test_no_more_than_a_pass_may_have():
    assert ReadingPace(2).chunk == 2
    assert _settle(ReadingPace(2), 90_000_000) == 2
