"""The machine is measured once, when figures that need it are looked at and missing."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QObject, Signal

from app.controllers.machine_rates import MachineRates
from app.controllers.outlook import Outlook
from engine.api import ModelOptions
from tests.helpers.fake_inspector import SHEET, FakeMeasurement, lines

pytestmark = pytest.mark.usefixtures("qapp")


class Watch(QObject):
    """Looks that a test shows."""

    changed = Signal()
    closing = Signal()

    def __init__(self):
        super().__init__()
        self.outlook = None
        self.num_refreshed = 0

    def refresh(self):
        self.num_refreshed += 1

    def show(self, speed):
        found = {p: replace(f, decode_tokens_per_s=speed) for p, f in lines().items()}
        self.outlook = Outlook(ModelOptions("/m/small.gguf"), SHEET, found)
        self.changed.emit()


@pytest.fixture
def parts():
    watch, measurement = Watch(), FakeMeasurement([])
    rates = MachineRates(measurement, watch)
    return watch, measurement, rates


def test_a_look_without_a_speed_measures_once(parts):
    watch, measurement, _rates = parts
    watch.show(None)
    watch.show(None)
    assert measurement.started == [["roofline", "--json"]]
    measurement.measured.emit({"device": "cpu"}, 9.8)
    assert watch.num_refreshed == 1


def test_a_look_with_speeds_or_without_a_model_measures_nothing(parts):
    watch, measurement, _rates = parts
    watch.changed.emit()
    watch.show(58.0)
    assert measurement.started == []


def test_a_machine_that_cannot_be_measured_is_left_in_peace(parts):
    watch, measurement, _rates = parts
    watch.show(None)
    measurement.failed.emit("no memory")
    watch.show(None)
    assert len(measurement.started) == 1
    assert watch.num_refreshed == 0


def test_closing_ends_the_program(parts):
    watch, measurement, _rates = parts
    watch.show(None)
    watch.closing.emit()
    assert not measurement.is_running


def test_measuring_on_demand_for_a_models_threads(parts):
    watch, measurement, rates = parts
    told = []
    rates.changed.connect(lambda: told.append(rates.is_measuring))
    rates.measure(3)
    rates.measure(3)  # one at a time
    assert measurement.started == [["roofline", "--json", "--threads", "3"]]
    measurement.finish()
    rates.measure()
    measurement.fail("no memory")
    assert told == [True, False, True, False]
    assert rates.problem == "no memory"
    rates.measure()
    assert rates.problem is None
    measurement.finish()
    watch.show(None)
    assert len(measurement.started) == 3  # it was measured in this run
