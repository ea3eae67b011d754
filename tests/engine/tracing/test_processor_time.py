"""What all processors did, and what a host took of it; systems that count no such thing say nothing."""

import sys
from typing import NamedTuple

import psutil
import pytest

from engine.tracing.processor_time import ProcessorTime, processor_time, time_between


class _Linux(NamedTuple):
    user: float
    nice: float
    system: float
    idle: float
    iowait: float
    irq: float
    softirq: float
    steal: float
    guest: float
    guest_nice: float


class _Mac(NamedTuple):
    user: float
    nice: float
    system: float
    idle: float


class _Windows(NamedTuple):
    user: float
    system: float
    idle: float
    interrupt: float
    dpc: float


def _set(monkeypatch: pytest.MonkeyPatch, times: tuple[float, ...]) -> None:
    monkeypatch.setattr(psutil, "cpu_times", lambda: times)


def test_what_the_host_took_is_no_programs(monkeypatch) -> None:
    # guests of this machine are counted among user and nice
    _set(monkeypatch, _Linux(10.0, 2.0, 3.0, 50.0, 4.0, 0.5, 0.25, 6.0, 1.5, 0.5))
    assert processor_time() == ProcessorTime(15.75, 6.0)
    assert processor_time().wanted_s == 21.75


@pytest.mark.parametrize(
    "times",
    [
        _Mac(10.0, 2.0, 3.0, 50.0),
        _Windows(10.0, 4.0, 50.0, 0.5, 0.5),
        _Linux(10.0, 2.0, 3.0, 50.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0),  # a laptop, or a silent host
    ],
)
def test_where_nobody_counts_it_there_is_no_zero(monkeypatch, times) -> None:
    _set(monkeypatch, times)
    assert processor_time() == ProcessorTime(15.0, None)
    assert processor_time().wanted_s == 15.0


def test_what_passed_between_two_looks() -> None:
    before, now = ProcessorTime(10.0, 1.0), ProcessorTime(14.0, 1.5)
    assert time_between(before, now) == ProcessorTime(4.0, 0.5)
    silent = ProcessorTime(10.0)
    assert time_between(silent, ProcessorTime(14.0)) == ProcessorTime(4.0, None)
    # the first time it is counted at all, and a count set back by a move to another host
    assert time_between(silent, now).stolen_s == 1.5
    assert time_between(now, ProcessorTime(15.0, 0.2)) == ProcessorTime(1.0, 0.0)


def test_the_system_answers() -> None:
    found = processor_time()
    assert found.busy_s > 0
    assert found.wanted_s >= found.busy_s
    if sys.platform != "linux":
        assert found.stolen_s is None
