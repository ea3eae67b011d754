"""The rows of the table of precisions, made from a look at the model and what was measured."""

from collections.abc import Mapping

from app.controllers.outlook import Outlook
from app.quality.advice import Candidate, recommended
from app.quality.loss import Loss
from app.quality.weights import WEIGHTS
from app.settings.declared import INT4_CALIBRATED
from engine.api import Fit, Foresight, Precision
from ui.settings.precision_lines import LossFigures, PrecisionLine
from ui.widgets.precision_name import precision_name

# every other precision is compared with it
REFERENCE = Precision.FP32.value


def rows_of(outlook: Outlook, known: Mapping[str, Loss], setting: str) -> list[PrecisionLine]:
    """A row for each kind of weights. ``setting``: the value of the setting "weights"."""
    names = offered(outlook)
    default = outlook.sheet.default.value
    candidates = [
        Candidate(
            name,
            foreseen(outlook, name).fit,
            known.get(name),
            is_ready=_making_s(outlook, name) is None,
        )
        for name in names
    ]
    advised = recommended(candidates, default)
    automatic = default if setting == Precision.AUTO.value else ""
    return [
        PrecisionLine(
            key=name,
            name=name_of(name),
            num_bytes=foreseen(outlook, name).needed_bytes,
            fit=foreseen(outlook, name).fit,
            decode_tokens_per_s=foreseen(outlook, name).decode_tokens_per_s,
            loss=_figures(known.get(name)),
            is_reference=name == REFERENCE,
            is_recommended=name == advised,
            is_automatic=name == automatic,
            making_s=_making_s(outlook, name),
        )
        for name in names
    ]


def selected_of(outlook: Outlook, setting: str) -> str:
    """The row that is in force with ``setting``."""
    if setting == Precision.AUTO.value:
        return outlook.sheet.default.value
    return setting if setting in offered(outlook) else Precision.INT4.value


def offered(outlook: Outlook) -> list[str]:
    """What can be chosen: calibrated weights where they were made, or where making them gains."""
    sheet = outlook.sheet
    can_calibrate = sheet.is_calibrated or sheet.calibration_s is not None
    return [name for name in WEIGHTS if can_calibrate or name != INT4_CALIBRATED]


def to_measure(outlook: Outlook, known: Mapping[str, Loss]) -> list[str]:
    """What measuring would measure: what is not known yet, or all again where everything is."""
    names = [
        name
        for name in offered(outlook)
        if name != REFERENCE and foreseen(outlook, name).fit is not Fit.TOO_LARGE
    ]
    return [name for name in names if name not in known] or names


def foreseen(outlook: Outlook, name: str) -> Foresight:
    """The planner's line for a kind of weights."""
    return outlook.lines[WEIGHTS[name].precision]


def name_of(name: str) -> str:
    """How a kind of weights is written."""
    weights = WEIGHTS[name]
    return precision_name(weights.precision, is_calibrated=weights.is_calibrated)


def _making_s(outlook: Outlook, name: str) -> float | None:
    is_made = name != INT4_CALIBRATED or outlook.sheet.is_calibrated
    return None if is_made else outlook.sheet.calibration_s


def _figures(loss: Loss | None) -> LossFigures | None:
    if loss is None:
        return None
    return LossFigures(
        perplexity=loss.perplexity,
        tokens=loss.tokens,
        top1_agreement=loss.top1_agreement,
        mean_kl=loss.mean_kl,
        reference_perplexity=loss.reference_perplexity,
        is_bad=loss.is_bad,
    )
