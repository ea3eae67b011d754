"""Stalls between tokens, and their causes."""

import pytest

from engine.api import Stall, StallCause
from engine.tracing.gaps import find_stalls
from engine.tracing.recorder import Trace

MS = 1_000_000
EVEN = tuple(10 * MS * n for n in range(6))
LATE = (*EVEN, 200 * MS, 210 * MS)  # 150 ms before token 6


def _trace(times, *, preempted=(), others=()) -> Trace:
    return Trace("a", None, (), tuple(times), tuple(preempted), tuple(others), 0)


def test_even_tokens_have_none() -> None:
    assert find_stalls(_trace(EVEN)) == []
    assert find_stalls(_trace([5])) == find_stalls(_trace([])) == []


def test_short_gaps_are_none_however_many_times_the_usual() -> None:
    assert find_stalls(_trace([0, 1 * MS, 2 * MS, 20 * MS])) == []


@pytest.mark.parametrize(
    ("more", "collections", "cause"),
    [
        ({}, (), StallCause.UNKNOWN),
        ({"preempted": [6]}, (), StallCause.PREEMPTED),
        ({"others": [(60 * MS, 120 * MS), (121 * MS, 190 * MS)]}, (), StallCause.PREFILL),
        ({"others": [(60 * MS, 100 * MS)]}, (), StallCause.UNKNOWN),  # 40 of 140 ms
        ({"others": [(201 * MS, 900 * MS)]}, (), StallCause.UNKNOWN),
        ({}, [(70 * MS, 170 * MS)], StallCause.COLLECTOR),
        ({"preempted": [2]}, (), StallCause.UNKNOWN),
    ],
)
def test_a_stall_has_the_cause_that_covers_it(more, collections, cause) -> None:
    found = find_stalls(_trace(LATE, **more), {StallCause.COLLECTOR: collections})
    assert found == [Stall(6, 50 * MS, 150 * MS, cause)]


@pytest.mark.parametrize(
    "cause",
    [StallCause.MEMORY, StallCause.THROTTLED, StallCause.STOLEN, StallCause.OTHERS],
)
def test_the_machine_can_be_the_cause(cause) -> None:
    (stall,) = find_stalls(_trace(LATE), {cause: ((60 * MS, 190 * MS),)})
    assert stall.cause is cause
