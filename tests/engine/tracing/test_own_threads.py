"""What the threads of a process ran and waited for, told apart by what they run."""

import sys
import threading
from types import SimpleNamespace

import psutil
import pytest

from engine.tracing import own_threads as module
from engine.tracing.own_threads import CoreUse, ThreadTime, core_use, own_threads

BEFORE = {1: ThreadTime(5.0, 1.0), 2: ThreadTime(1.0, 0.5), 3: ThreadTime(2.0, 0.25)}


def test_the_busiest_threads_are_the_engines() -> None:
    after = {1: ThreadTime(5.5, 1.9), 2: ThreadTime(9.0, 1.5), 3: ThreadTime(9.5, 2.25)}
    after[4] = ThreadTime(0.5, 3.0)  # began meanwhile
    use = core_use(BEFORE, after, 10.0, 2)
    assert use.engine_waited == pytest.approx(0.2)  # of the slower of 2 and 3
    assert use.rest_cores == pytest.approx(0.1)


def test_a_thread_that_ended_counts_no_more() -> None:
    use = core_use(BEFORE, {2: ThreadTime(9.0, 0.5)}, 10.0, 2)
    assert use == CoreUse(engine_waited=0.0, rest_cores=0.0)


def test_a_system_that_counts_no_waiting() -> None:
    before = {1: ThreadTime(0.0), 2: ThreadTime(0.0)}
    use = core_use(before, {1: ThreadTime(8.0), 2: ThreadTime(2.0)}, 10.0, 1)
    assert use == CoreUse(engine_waited=None, rest_cores=0.2)


@pytest.mark.parametrize(("before", "wall"), [({}, 10.0), (BEFORE, 0.0)])
def test_nothing_is_known_of_a_moment_or_of_a_silent_system(before, wall) -> None:
    assert core_use(before, BEFORE, wall, 2) == CoreUse()


def test_this_system_tells_of_this_thread() -> None:
    found = own_threads()
    assert threading.get_native_id() in found
    assert all(thread.ran_s >= 0 for thread in found.values())


@pytest.mark.skipif(sys.platform != "linux", reason="the scheduler's files are Linux's")
def test_without_the_schedulers_files_others_are_asked(monkeypatch, tmp_path) -> None:
    (tmp_path / "7").mkdir()
    monkeypatch.setattr(module, "_TASKS", tmp_path)  # a thread that has just ended
    threads = [SimpleNamespace(id=3, user_time=1.0, system_time=0.5)]
    monkeypatch.setattr(psutil.Process, "threads", lambda _process: threads)
    assert own_threads() == {3: ThreadTime(1.5)}
    monkeypatch.setattr(module, "_TASKS", tmp_path / "none")
    monkeypatch.setattr(psutil.Process, "threads", _refuse)
    assert own_threads() == {}


@pytest.mark.skipif(sys.platform != "linux", reason="the scheduler's files are Linux's")
def test_a_scheduler_that_counts_nothing_is_not_believed(monkeypatch, tmp_path) -> None:
    for thread in ("7", "8"):
        (tmp_path / thread).mkdir()
        (tmp_path / thread / "schedstat").write_text("0 0 0\n", "ascii")
    monkeypatch.setattr(module, "_TASKS", tmp_path)
    threads = [SimpleNamespace(id=7, user_time=1.0, system_time=0.5)]
    monkeypatch.setattr(psutil.Process, "threads", lambda _process: threads)
    assert own_threads() == {7: ThreadTime(1.5)}


def _refuse(_process: psutil.Process) -> list[object]:
    raise psutil.AccessDenied
