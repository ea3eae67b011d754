"""The prefill chunk follows the speed of past steps."""

from engine.scheduling.pace import PrefillPace

MS = 1_000_000


def test_it_starts_small_and_follows_a_fast_machine() -> None:
    pace = PrefillPace(512)
    assert pace.chunk(is_shared=False) == 128
    pace.note(128, 50 * MS)
    assert pace.chunk(is_shared=False) == 512


def test_a_slow_machine_gets_small_chunks_but_never_tiny_ones() -> None:
    pace = PrefillPace(512)
    pace.note(128, 800 * MS)
    assert pace.chunk(is_shared=False) == 64
    for _ in range(9):
        pace.note(64, 64_000 * MS)
    assert pace.chunk(is_shared=False) == 32


def test_small_steps_teach_nothing() -> None:
    pace = PrefillPace(512)
    pace.note(5, 900 * MS)
    pace.note(0, 0)
    assert pace.chunk(is_shared=False) == 128


def test_the_budget_bounds_the_chunk() -> None:
    assert PrefillPace(16).chunk(is_shared=False) == 16


def test_beside_a_stream_chunks_are_smaller() -> None:
    pace = PrefillPace(512)
    assert pace.chunk(is_shared=True) == 32
    pace.note(128, 100 * MS)
    assert (pace.chunk(is_shared=False), pace.chunk(is_shared=True)) == (512, 128)


def test_a_pace_that_does_not_adapt_takes_all() -> None:
    pace = PrefillPace(4096, is_adaptive=False)
    pace.note(128, 9_000 * MS)
    assert pace.chunk(is_shared=True) == 4096
