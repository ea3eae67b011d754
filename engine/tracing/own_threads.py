"""What each thread of this process ran, and how long it stood ready and had no core.

Both by the system's own count: Linux tells both, others at most the first. Knows no engine: which
threads compute is told by what they run.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

_TASKS = Path("/proc/self/task")
_NS = 1e9


@dataclass(frozen=True, slots=True)
class ThreadTime:
    """Seconds of one thread since it began: on a core, and ready without one (None: not told)."""

    ran_s: float
    waited_s: float | None = None


@dataclass(frozen=True, slots=True)
class CoreUse:
    """How the process had the cores over some time.

    ``engine_waited``: part of the time that the engine's slowest thread was ready and had no core;
    ``rest_cores``: cores that all other threads kept busy. None where the system does not say.
    """

    engine_waited: float | None = None
    rest_cores: float | None = None


def own_threads() -> dict[int, ThreadTime]:
    """All threads there are now, by their number; empty where the system tells nothing."""
    found = _linux() if sys.platform == "linux" else {}
    return found or _anywhere()


def core_use(
    before: Mapping[int, ThreadTime],
    after: Mapping[int, ThreadTime],
    wall_s: float,
    num_engine: int,
) -> CoreUse:
    """Between two looks, ``wall_s`` apart, for an engine that computes on ``num_engine`` threads.

    Those are the busiest: whoever computes does nothing else, and nobody else computes.
    """
    if not before or not after or wall_s <= 0:
        return CoreUse()
    none = ThreadTime(0.0, 0.0)
    passed = [_passed(before.get(thread, none), now) for thread, now in after.items()]
    passed.sort(key=_ran, reverse=True)
    engine, rest = passed[:num_engine], passed[num_engine:]
    waits = [thread.waited_s for thread in engine if thread.waited_s is not None]
    return CoreUse(
        engine_waited=min(1.0, max(waits) / wall_s) if len(waits) == len(engine) > 0 else None,
        rest_cores=sum(thread.ran_s for thread in rest) / wall_s,
    )


def _ran(thread: ThreadTime) -> float:
    return thread.ran_s


def _passed(before: ThreadTime, now: ThreadTime) -> ThreadTime:
    waited = None
    if now.waited_s is not None:
        waited = max(0.0, now.waited_s - (before.waited_s or 0.0))
    return ThreadTime(max(0.0, now.ran_s - before.ran_s), waited)


def _linux() -> dict[int, ThreadTime]:
    """By the scheduler's own count: run time, time ready in a queue (ns), time slices."""
    found = {}
    try:
        tasks = [int(task.name) for task in _TASKS.iterdir() if task.name.isdecimal()]
    except OSError:
        return {}
    for task in tasks:
        try:
            ran, waited, *_slices = (_TASKS / str(task) / "schedstat").read_text("ascii").split()
            found[task] = ThreadTime(int(ran) / _NS, int(waited) / _NS)
        except (OSError, ValueError):  # it has just ended, or the system does not count
            continue
    # where it does not count, all of them are zeros, and not even this thread ran
    return found if any(thread.ran_s for thread in found.values()) else {}


def _anywhere() -> dict[int, ThreadTime]:
    try:
        threads = psutil.Process().threads()
    except (psutil.Error, OSError):
        return {}
    return {thread.id: ThreadTime(thread.user_time + thread.system_time) for thread in threads}
