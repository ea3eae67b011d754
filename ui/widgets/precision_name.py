"""How a precision of weights is written."""

from engine.api import ModelInfo, Precision
from ui.i18n import tr


def precision_name(precision: Precision, *, is_calibrated: bool = False) -> str:
    """The precision in capitals; INT4 tells whether it was chosen with care."""
    name = precision.value.upper()
    return tr("{name} calibrated", name=name) if is_calibrated else name


def precision_title(info: ModelInfo) -> str:
    """The loaded model's precision."""
    return precision_name(info.precision, is_calibrated=info.is_calibrated)
