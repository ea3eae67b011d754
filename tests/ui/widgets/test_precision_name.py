from dataclasses import replace

from engine.api import Precision
from tests.helpers.sample_engine import MODEL
from ui.widgets.model_pill import ModelPillState
from ui.widgets.precision_name import precision_name, precision_title


def test_calibrated_weights_are_told_apart():
    assert precision_name(Precision.BF16) == "BF16"
    assert precision_title(MODEL) == "INT4"
    calibrated = replace(MODEL, is_calibrated=True)
    assert precision_title(calibrated) == "INT4 calibrated"
    assert ModelPillState.ready(calibrated).detail == "INT4 calibrated · CPU · 8K"
