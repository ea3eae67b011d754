"""The load of other programs, told from this program's own."""

import psutil
import pytest

from app.controllers.experiments.others import Others


@pytest.fixture
def clocks(monkeypatch):
    """What the system would say: seconds of the machine, of this program, and of the clock."""
    machine = psutil.cpu_times()._replace(**dict.fromkeys(psutil.cpu_times()._fields, 0.0))
    own = psutil.Process().cpu_times()
    own = own._replace(**dict.fromkeys(own._fields, 0.0))
    values = {"machine": machine, "own": own, "at": 0.0}
    place = "app.controllers.experiments.others"
    monkeypatch.setattr(f"{place}.psutil.cpu_times", lambda: values["machine"])
    monkeypatch.setattr(f"{place}.psutil.Process.cpu_times", lambda _self: values["own"])
    monkeypatch.setattr(f"{place}.time.monotonic", lambda: values["at"])
    monkeypatch.setattr(f"{place}.sys.platform", "linux")
    return values


def test_what_is_busy_for_itself_is_no_other(clocks):
    others = Others()
    clocks["machine"] = clocks["machine"]._replace(user=8.0, idle=12.0)
    clocks["own"] = clocks["own"]._replace(user=8.0)
    clocks["at"] = 10.0
    assert others.cores() == 0.0


def test_what_is_left_is_the_others(clocks):
    others = Others()
    clocks["machine"] = clocks["machine"]._replace(user=15.0, system=5.0, idle=20.0)
    clocks["own"] = clocks["own"]._replace(user=6.0, system=2.0)
    clocks["at"] = 10.0
    assert others.cores() == pytest.approx(1.2)


@pytest.mark.usefixtures("clocks")
def test_no_time_is_no_load():
    assert Others().cores() == 0.0
