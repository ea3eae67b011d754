"""The values of the setting "weights", and what each asks of the engine."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.settings.declared import INT4_CALIBRATED
from engine.api import Precision


@dataclass(frozen=True, slots=True)
class Weights:
    """A precision, and whether INT4 is chosen with an eye on the activations."""

    precision: Precision
    is_calibrated: bool = False


# narrowest first
WEIGHTS: Mapping[str, Weights] = {
    Precision.INT4.value: Weights(Precision.INT4),
    INT4_CALIBRATED: Weights(Precision.INT4, is_calibrated=True),
    Precision.INT8.value: Weights(Precision.INT8),
    Precision.BF16.value: Weights(Precision.BF16),
    Precision.FP32.value: Weights(Precision.FP32),
}
