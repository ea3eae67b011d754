"""What the machine did meanwhile; every reading may be missing."""

from types import SimpleNamespace

import psutil
import pytest

from engine.api import StallCause
from engine.tracing import machine
from engine.tracing.machine import MachineWatch, own_swap_bytes
from engine.tracing.processor_time import ProcessorTime


class _Times:
    """Clock, processor times and own times that a test sets; ``stolen`` None: not counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ns, self.busy, self.own = 0, 0.0, 0.0
        self.stolen: float | None = None
        monkeypatch.setattr(
            machine, "processor_time", lambda: ProcessorTime(self.busy, self.stolen)
        )
        monkeypatch.setattr(MachineWatch, "_own_seconds", lambda _watch: self.own)

    def pass_by(
        self, seconds: float, *, busy: float, own: float, stolen: float | None = None
    ) -> None:
        self.now_ns += round(seconds * 1e9)
        self.busy += busy
        self.own += own
        if stolen is not None:
            self.stolen = (self.stolen or 0.0) + stolen


@pytest.fixture
def times(monkeypatch):
    return _Times(monkeypatch)


def test_what_others_keep_busy(times) -> None:
    watch = MachineWatch(lambda: times.now_ns)
    times.pass_by(10, busy=15, own=11)
    state = watch.state(threads=2)
    assert state.other_cores == pytest.approx(0.4)
    assert state.threads == 2
    assert state.cores >= 1


def test_ticks_say_nothing_of_a_moment(times) -> None:
    watch = MachineWatch(lambda: times.now_ns)
    times.pass_by(0.05, busy=0.1, own=0.0)
    assert watch.state(1).other_cores is None


@pytest.mark.parametrize(
    ("busy", "own", "is_crowded"), [(2, 1, True), (2, 1.8, False), (1.4, 0.7, False)]
)
def test_others_are_felt_where_no_core_is_free(times, monkeypatch, busy, own, is_crowded) -> None:
    monkeypatch.setattr(machine, "physical_cores", lambda: 2)
    watch = MachineWatch(lambda: times.now_ns)
    times.pass_by(1, busy=busy, own=own)
    watch.sample()
    times.pass_by(0.01, busy=0.02, own=0)  # too short to tell
    watch.sample()
    expected = ((0, 1_000_000_000),) if is_crowded else ()
    assert watch.spans()[StallCause.OTHERS] == expected


def test_what_the_host_takes_is_of_the_time_that_was_wanted(times) -> None:
    times.stolen = 900.0  # long before
    watch = MachineWatch(lambda: times.now_ns)
    times.pass_by(8, busy=12.2, own=11.4, stolen=3.8)
    state = watch.state(threads=2)
    assert state.stolen == pytest.approx(0.2375)
    assert state.other_cores == pytest.approx(0.1)  # the host is no program of this machine
    times.pass_by(8, busy=12.2, own=11.4, stolen=0.0)
    assert watch.state(threads=2).stolen == pytest.approx(3.8 / 28.2)


def test_a_host_that_tells_nothing_took_nobody_knows_what(times) -> None:
    watch = MachineWatch(lambda: times.now_ns)
    times.pass_by(8, busy=12, own=11)
    watch.sample()
    assert watch.state(threads=2).stolen is None
    assert watch.spans()[StallCause.STOLEN] == ()


def test_a_moment_says_nothing_of_the_host(times) -> None:
    times.stolen = 900.0
    watch = MachineWatch(lambda: times.now_ns)
    times.pass_by(5, busy=0.05, own=0.01, stolen=0.01)
    assert watch.state(threads=2).stolen is None


@pytest.mark.parametrize(
    ("stolen", "busy", "causes"),
    [
        (0.3, 1.0, {StallCause.STOLEN}),
        (0.2, 1.0, set()),
        (0.3, 1.6, {StallCause.STOLEN, StallCause.OTHERS}),
    ],
)
def test_the_host_is_felt_where_it_takes_a_part_of_a_core(
    times, monkeypatch, stolen, busy, causes
) -> None:
    monkeypatch.setattr(machine, "physical_cores", lambda: 2)
    watch = MachineWatch(lambda: times.now_ns)
    times.pass_by(1, busy=busy, own=1.0, stolen=stolen)
    watch.sample()
    times.pass_by(0.01, busy=0.0, own=0.0, stolen=0.02)  # too short to tell
    watch.sample()
    found = watch.spans()
    assert {cause for cause in found if found[cause] == ((0, 1_000_000_000),)} == causes


def test_frequencies_are_those_of_the_busiest_core(times, monkeypatch) -> None:
    cores = [SimpleNamespace(current=800.0, min=0, max=3_000.0)] * 3
    readings = iter([[*cores, SimpleNamespace(current=f, min=0, max=4_000.0)] for f in (2e3, 3e3)])
    monkeypatch.setattr(psutil, "cpu_freq", lambda percpu: next(readings))  # noqa: ARG005
    watch = MachineWatch(lambda: times.now_ns)
    watch.sample()
    watch.sample()
    state = watch.state(1)
    assert (state.mhz_now, state.mhz_max) == (2_500, 4_000)


@pytest.mark.parametrize("found", [None, [], [SimpleNamespace(current=2_800.0, min=0, max=0.0)]])
def test_a_virtual_machine_has_no_frequency(times, monkeypatch, found) -> None:
    monkeypatch.setattr(psutil, "cpu_freq", lambda percpu: found)  # noqa: ARG005
    watch = MachineWatch(lambda: times.now_ns)
    watch.sample()
    assert watch.state(1).mhz_now is None


def test_sensors_and_batteries_that_are_there(times, monkeypatch) -> None:
    entries = [
        SimpleNamespace(label="", current=c, high=None, critical=100.0) for c in (60.0, 97.0)
    ]
    sensors = {"coretemp": entries, "nvme": [SimpleNamespace(current=200.0, critical=1.0)]}
    monkeypatch.setattr(psutil, "sensors_temperatures", lambda: sensors, raising=False)
    battery = SimpleNamespace(power_plugged=False)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    state = MachineWatch(lambda: times.now_ns).state(1)
    assert (state.temperature_c, state.temperature_limit_c) == (97, 100)
    assert state.is_on_battery is True


def test_sensors_and_batteries_that_are_not(times, monkeypatch) -> None:
    monkeypatch.setattr(psutil, "sensors_temperatures", dict, raising=False)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: None, raising=False)
    state = MachineWatch(lambda: times.now_ns).state(1)
    assert (state.temperature_c, state.is_on_battery) == (None, None)


def test_only_what_came_back_from_swap_counts(times, monkeypatch) -> None:
    swapped = iter([500, 200, 500, 900])
    monkeypatch.setattr(machine, "own_swap_bytes", lambda: next(swapped))
    assert MachineWatch(lambda: times.now_ns).state(1).swapped_in_bytes == 300
    assert MachineWatch(lambda: times.now_ns).state(1).swapped_in_bytes == 0


def test_the_system_answers() -> None:
    watch = MachineWatch()
    watch.sample()
    assert own_swap_bytes() >= 0
    assert watch.state(1).swapped_in_bytes == 0
