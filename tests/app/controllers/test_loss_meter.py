"""One measurement after another; what is measured stays."""

import pytest

from app.controllers.loss_meter import LossMeter, Wanted
from app.quality.loss import LossBook
from tests.helpers.desk import ImmediateTasks
from tests.helpers.fake_inspector import FakeMeasurement

pytestmark = pytest.mark.usefixtures("qapp")
WANTED = Wanted("/m/small.gguf", "key", 100)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "losses.json"


@pytest.fixture
def meter(place):
    measurement = FakeMeasurement([])
    return LossMeter(
        measurement, lambda path, weights: [path, weights], ImmediateTasks("x"), place, measurement
    )


def test_one_after_another_and_each_is_on_disk(meter, place):
    finished = []
    meter.finished.connect(finished.append)
    meter.measure(WANTED, ["int4", "int8"])
    assert meter._measurement.started == [["/m/small.gguf", "int4"]]
    assert (meter.measuring.number, meter.measuring.count) == (1, 2)
    meter._measurement.progressed.emit(0.5)
    assert meter.measuring.part == 0.5
    meter._measurement.finish(0.85, 40.0)
    assert meter.measuring.weights == "int8"
    assert meter.measuring.part == 0
    assert list(LossBook.read(place).of_model("key")) == ["int4"]
    meter._measurement.finish()
    assert meter.measuring is None
    assert finished == ["int4", "int8"]
    kept = LossBook.read(place).of_model("key")
    assert kept == meter.known("key")
    assert kept["int4"].seconds == 40.0
    assert kept["int4"].num_parameters == 100


def test_only_one_at_a_time(meter):
    meter.measure(WANTED, ["int4"])
    meter.measure(WANTED, ["int8"])
    meter.measure(WANTED, [])
    assert len(meter._measurement.started) == 1


def test_a_failure_is_told_and_the_next_goes_on(meter):
    meter.measure(WANTED, ["bf16", "int8"])
    meter._measurement.fail("Too large.")
    assert (meter.failure.weights, meter.failure.reason) == ("bf16", "Too large.")
    meter._measurement.finish()
    assert list(meter.known("key")) == ["int8"]
    assert meter.failure is not None
    meter.measure(WANTED, ["bf16"])
    assert meter.failure is None


def test_a_result_that_is_none_is_a_failure(meter):
    meter.measure(WANTED, ["int8"])
    meter._measurement.measured.emit({"words": 1}, 3.0)
    assert meter.failure.weights == "int8"
    assert meter.measuring is None


def test_cancel_keeps_what_is_measured(meter):
    meter.measure(WANTED, ["int4", "int8"])
    meter._measurement.finish()
    meter.cancel()
    assert not meter._measurement.is_running
    assert meter.measuring is None
    assert list(meter.known("key")) == ["int4"]
    meter._measurement.finish()  # said before it was killed
    assert list(meter.known("key")) == ["int4"]


def test_earlier_runs_are_read_once(meter, place):
    meter.measure(WANTED, ["int8"])
    meter._measurement.finish()
    again = LossMeter(FakeMeasurement([]), lambda *_: [], ImmediateTasks("x"), place)
    assert again.known("key") == {}
    again.read()
    assert again.known("key") == meter.known("key")
    place.unlink()
    again.read()
    assert again.known("key") == meter.known("key")


def test_a_disk_that_refuses_is_told(meter, place):
    told = []
    meter.save_failed.connect(told.append)
    place.mkdir()
    meter.measure(WANTED, ["int8"])
    meter._measurement.finish()
    assert isinstance(told[0], OSError)
    assert list(meter.known("key")) == ["int8"]
