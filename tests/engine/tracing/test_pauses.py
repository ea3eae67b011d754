"""Garbage collections are seen, and only while they are watched."""

import gc

from engine.tracing.pauses import CollectorWatch
from tests.helpers.fake_runner import FakeClock


def test_each_collection_is_a_span() -> None:
    watch = CollectorWatch(FakeClock(1))
    gc.disable()
    try:
        with watch:
            gc.collect()
            gc.collect()
        gc.collect()
    finally:
        gc.enable()
    assert watch.spans == ((1, 2), (3, 4))
