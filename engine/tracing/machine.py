"""What the machine did while an answer was computed: other programs, its host, frequency, heat, swap.

Every reading may be missing: a virtual machine shows no frequency, a desktop no battery or host.
"""

import os
import re
import sys
from collections import deque
from pathlib import Path

import psutil

from engine.api import StallCause
from engine.devices import physical_cores
from engine.diagnosis.observation import MachineState
from engine.metrics import Clock, now_ns
from engine.tracing.own_threads import core_use, own_threads
from engine.tracing.processor_time import ProcessorTime, processor_time, time_between

if sys.platform != "win32":
    import resource

_OWN_SWAP = re.compile(r"^VmSwap:\s+(\d+) kB", re.MULTILINE)
_SLOW = 0.6  # of the highest frequency: where thresholds.py calls a processor throttled
_MOST_SPANS = 1_024
_LEAST_S = 0.1  # processor times come in ticks of 10 ms
_OTHERS, _SPARE = 0.5, 0.25  # cores: of others that are felt, and idle ones of a full machine
_STOLEN = (
    0.25  # cores that the host takes: always one that was wanted, and all threads wait for it
)
_PROFILE = Path("/sys/firmware/acpi/platform_profile")


class MachineWatch:
    """From its making to ``state``. ``sample`` may be called meanwhile, while cores are busy.

    A sample reads some small files of the system: some milliseconds on many cores, so not in every
    step and not in a thread that paints.
    """

    def __init__(self, clock: Clock = now_ns) -> None:
        self._clock = clock
        self._process = psutil.Process()
        self._start_ns = clock()
        self._processors, self._own_s = processor_time(), self._own_seconds()
        self._threads = own_threads()
        self._own_swap = own_swap_bytes()
        self._mhz: list[float] = []
        self._mhz_max: float | None = None
        self._sampled_ns, self._faults = self._start_ns, disk_faults()
        self._read_back: deque[tuple[int, int]] = deque(maxlen=_MOST_SPANS)
        self._slow: deque[tuple[int, int]] = deque(maxlen=_MOST_SPANS)
        self._crowded: deque[tuple[int, int]] = deque(maxlen=_MOST_SPANS)
        self._stolen: deque[tuple[int, int]] = deque(maxlen=_MOST_SPANS)
        self._last_processors, self._last_own_s = self._processors, self._own_s

    def sample(self) -> None:
        """Note what has been read back from disk, who had the cores, and the frequency.

        That is the fastest core's: an idle one rests.
        """
        span, faults = (self._sampled_ns, self._clock()), disk_faults()
        self._note_others(span)
        if faults > self._faults:
            self._read_back.append(span)
        self._sampled_ns, self._faults = span[1], faults
        try:
            cores = psutil.cpu_freq(percpu=True)
        except (OSError, NotImplementedError, RuntimeError, AttributeError):
            return
        known = [core for core in cores or [] if core.current > 0 and core.max > 0]
        if known:
            self._mhz.append(max(core.current for core in known))
            self._mhz_max = max(core.max for core in known)
            if self._mhz[-1] < _SLOW * self._mhz_max:
                self._slow.append(span)

    def _note_others(self, span: tuple[int, int]) -> None:
        """Whether others had a good part of a core: of cores that were all busy, or the host."""
        now, own = processor_time(), self._own_seconds()
        wall = (span[1] - span[0]) / 1e9
        passed = time_between(self._last_processors, now)
        others = passed.busy_s - (own - self._last_own_s)
        self._last_processors, self._last_own_s = now, own
        if wall < _LEAST_S:
            return
        if others >= _OTHERS * wall and passed.wanted_s >= (physical_cores() - _SPARE) * wall:
            self._crowded.append(span)
        if passed.stolen_s is not None and passed.stolen_s >= _STOLEN * wall:
            self._stolen.append(span)

    def spans(self) -> dict[StallCause, tuple[tuple[int, int], ...]]:
        """Between which samples the process read memory back, had to share, or found cores slow."""
        return {
            StallCause.MEMORY: tuple(self._read_back),
            StallCause.THROTTLED: tuple(self._slow),
            StallCause.STOLEN: tuple(self._stolen),
            StallCause.OTHERS: tuple(self._crowded),
        }

    def state(self, threads: int) -> MachineState:
        """Everything since the watch was made, for an engine of ``threads``."""
        wall = (self._clock() - self._start_ns) / 1e9
        passed = time_between(self._processors, processor_time())
        own = self._own_seconds() - self._own_s
        use = core_use(self._threads, own_threads(), wall if wall >= _LEAST_S else 0.0, threads)
        temperature, limit = _hottest()
        battery = _battery()
        return MachineState(
            cores=physical_cores(),
            threads=threads,
            other_cores=max(0.0, passed.busy_s - own) / wall if wall >= _LEAST_S else None,
            own_cores=use.rest_cores,
            waited=use.engine_waited,
            mhz_now=sum(self._mhz) / len(self._mhz) if self._mhz else None,
            mhz_max=self._mhz_max,
            temperature_c=temperature,
            temperature_limit_c=limit,
            is_on_battery=battery,
            is_saving_power=_saves_power(),
            swapped_in_bytes=max(0, self._own_swap - own_swap_bytes()),
            stolen=_stolen_share(passed),
        )

    def _own_seconds(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)


def own_swap_bytes() -> int:
    """Bytes of this process that lie in swap; 0 where the system does not say."""
    if sys.platform != "linux":
        return 0
    try:
        found = _OWN_SWAP.search(Path(f"/proc/{os.getpid()}/status").read_text("ascii", "replace"))
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def disk_faults() -> int:
    """Pages of this process that had to come from the disk so far; 0 where the system is silent."""
    if sys.platform == "win32":  # counts all faults, most of which cost nothing
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_majflt


def _stolen_share(passed: ProcessorTime) -> float | None:
    """What the host took of the time that processors were wanted; the idle ones lost nothing."""
    if passed.stolen_s is None or passed.wanted_s < _LEAST_S:
        return None
    return passed.stolen_s / passed.wanted_s


def _hottest() -> tuple[float | None, float | None]:
    """The hottest processor sensor and its critical temperature, in degrees Celsius."""
    read = getattr(psutil, "sensors_temperatures", None)
    try:
        sensors = read() if read is not None else {}
    except (OSError, ValueError):
        return None, None
    known = [
        (entry.current, entry.critical)
        for name, entries in sensors.items()
        if any(word in name for word in ("core", "cpu", "k10", "zen"))
        for entry in entries
        if entry.critical and entry.current
    ]
    return max(known, key=lambda pair: pair[0] - pair[1]) if known else (None, None)


def _battery() -> bool | None:
    """Whether the machine runs on its battery; None without one."""
    read = getattr(psutil, "sensors_battery", None)
    try:
        battery = read() if read is not None else None
    except (OSError, ValueError, RuntimeError):
        return None
    plugged = None if battery is None else battery.power_plugged
    return None if plugged is None else not plugged


def _saves_power() -> bool | None:
    """Whether the system's power profile is the saving one; None where it has none."""
    try:
        return _PROFILE.read_text("ascii").strip() in {"low-power", "quiet"}
    except (OSError, ValueError):
        return None
