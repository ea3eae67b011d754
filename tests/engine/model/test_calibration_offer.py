"""Who is offered calibration, and for how long."""

from dataclasses import dataclass, replace

import pytest

from engine.api import Precision
from engine.model.calibration_offer import calibration_offer
from engine.model.footprint.blueprint import Product
from engine.model.loader import open_checkpoint
from engine.planner.find import find_blueprint
from tests.helpers.tiny_models import write_tiny_model


@dataclass
class Machine:
    device: str = "cpu"
    read_bytes_per_s: float = 1e10
    speed: float = 1e11

    def flops_per_s(self, precision: Precision) -> float:
        return self.speed * (2 if precision is Precision.INT4 else 1)


@pytest.fixture
def tiny(tmp_path):
    path = write_tiny_model(tmp_path / "tiny.gguf")
    source = open_checkpoint(path)
    yield source, find_blueprint(str(path))
    source.close()


def test_wider_weights_on_a_measured_cpu(tiny):
    seconds, is_made = calibration_offer(*tiny, Machine())
    assert 0 < seconds < 10
    assert not is_made


def test_twice_the_speed_is_half_the_time(tiny):
    slow, _ = calibration_offer(*tiny, Machine())
    fast, _ = calibration_offer(*tiny, Machine(read_bytes_per_s=2e10, speed=2e11))
    assert fast == pytest.approx(slow / 2)


def test_nothing_measured_and_graphics_cards(tiny):
    assert calibration_offer(*tiny, None) == (None, False)
    assert calibration_offer(*tiny, Machine(device="cuda")) == (None, False)


def test_a_file_of_four_bits_is_offered_nothing(starter_model):
    source = open_checkpoint(starter_model)
    assert calibration_offer(source, find_blueprint(str(starter_model)), Machine()) == (
        None,
        False,
    )
    source.close()


def test_more_layers_take_longer_and_experts_are_plain(tiny):
    source, blueprint = tiny
    one, _ = calibration_offer(source, blueprint, Machine())
    two = replace(blueprint, products=blueprint.products * 2)
    assert calibration_offer(source, two, Machine())[0] == pytest.approx(2 * one)
    expert = Product(256, 256, copies=8, active=2)
    dense = Product(8 * 256, 256)
    times = [
        calibration_offer(source, replace(blueprint, products=(product,)), Machine())[0]
        for product in (expert, dense)
    ]
    assert times[0] < times[1]


def test_what_is_kept_is_said(tiny, monkeypatch):
    monkeypatch.setattr("engine.model.calibration_offer.is_calibrated", lambda _: True)
    assert calibration_offer(*tiny, Machine())[1]
