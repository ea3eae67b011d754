from app.experiments.runs import Difference, Setting, differences
from app.experiments.trials import Reading
from engine.api import ModelOptions
from tests.helpers.fake_engine import model_info


def test_places_both_measured_are_compared():
    first = [Reading("a", 1.0, {"m": 10.0}), Reading("a", 2.0, {"m": 20.0})]
    second = [Reading("a", 1.0, {"m": 12.0}), Reading("a", 3.0, {"m": 30.0})]
    (found,) = differences(first, second, ("m", "n"))
    assert found == Difference("a", 1.0, "", "m", 10.0, 12.0)
    assert found.change == 0.2
    assert Difference("a", 1.0, "", "m", 0.0, 12.0).change is None


def test_a_setting_is_that_of_the_loaded_model():
    setting = Setting.of(model_info(ModelOptions("m.gguf", threads=3)), "Small")
    assert (setting.machine, setting.threads, setting.model) == ("Test CPU", 3, "Small")
