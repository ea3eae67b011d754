"""What the machine did, and what the system keeps to itself."""

from engine.api import MachineUse
from ui.inspector.machine.doing import doing_rows


def test_a_system_that_tells():
    use = MachineUse(8, 6, 1.25, 2_100.0, 4_000.0, 71.4, 100.0, True, True)
    assert dict(doing_rows(use)) == {
        "Frequency": "2.1 of 4.0 GHz",
        "Temperature": "71 °C; the limit is 100 °C",
        "Power": "battery · saving mode",
        "Other programs": "1.2 of 8 cores busy",
        "Engine": "6 threads on 8 cores",
    }


def test_a_system_that_says_half_of_it():
    use = MachineUse(2, 2, 0.0, 2_100.0, None, 50.0, None, False, None)
    rows = dict(doing_rows(use))
    assert rows["Frequency"] == "2.1 GHz"
    assert rows["Temperature"] == "50 °C"
    assert rows["Power"] == "mains"


def test_what_the_window_takes_and_what_the_engine_loses():
    rows = dict(doing_rows(MachineUse(2, 2, 0.3, own_cores=0.12, waited=0.17)))
    assert rows["This window"] == "0.12 of 2 cores busy"
    assert rows["No core for the engine"] == "17% of the time"


def test_what_the_host_of_a_virtual_machine_takes():
    rows = dict(doing_rows(MachineUse(2, 2, 0.1, stolen=0.2375)))
    assert rows["Taken by the host"] == "24% of the processor time"
    assert dict(doing_rows(MachineUse(2, 2, 0.1, stolen=0.0)))["Taken by the host"].startswith(
        "0%"
    )
    assert "Taken by the host" not in dict(doing_rows(MachineUse(2, 2, 0.1)))


def test_a_silent_system():
    rows = dict(doing_rows(MachineUse(2, 2)))
    silent = [name for name, words in rows.items() if words == "the system does not say"]
    assert silent == ["Frequency", "Temperature", "Power", "Other programs"]
