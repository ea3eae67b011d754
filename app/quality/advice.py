"""Which precision suits a model here, by memory and by what was measured; what a measuring takes.

Plain decisions over plain values. What has not been measured is taken to be as good as it is
usually; what was measured to be a bad bargain is never recommended.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.quality.loss import Loss
from app.quality.weights import WEIGHTS
from app.settings.declared import INT4_CALIBRATED
from engine.api import Fit, ModelSheet

# the whole and the chosen weights, two operations a parameter and token, over both passages
_OPERATIONS = 2 * 2 * 1000
# until a run was timed here: what a laptop does beside other work, and two loads
_GUESSED_RATE = 1.5e10
_GUESSED_START_S = 10.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """One choice of weights. ``is_ready``: it needs no calibration first."""

    weights: str
    fit: Fit
    loss: Loss | None = None
    is_ready: bool = True


def recommended(candidates: Iterable[Candidate], default: str) -> str:
    """The weights to take; an empty string where none fit.

    The default, unless it was measured to lose noticeably or does not fit; then what is nearest
    to it: wider for quality, narrower for room.
    """
    usable = {c.weights: c for c in candidates if c.is_ready and not _is_bad(c)}
    names = list(WEIGHTS)
    start = names.index(default)
    wider, narrower = names[start:], names[:start][::-1]
    for fit in (Fit.FITS, Fit.TIGHT):
        for name in (*wider, *narrower):
            if name in usable and usable[name].fit is fit:
                return name
    return ""


def measuring_s(
    weights: str, sheet: ModelSheet, of_model: Mapping[str, Loss], elsewhere: Iterable[Loss]
) -> float:
    """About how many seconds measuring ``weights`` takes.

    From a run with this model, else from runs with other models by their size, else a guess.
    """
    waits_for = 0.0
    if weights == INT4_CALIBRATED and not sheet.is_calibrated and weights not in of_model:
        waits_for = sheet.calibration_s or 0.0
    if weights in of_model:
        return of_model[weights].seconds
    if of_model:
        plain = [loss.seconds for name, loss in of_model.items() if name != INT4_CALIBRATED]
        timed = plain or [loss.seconds for loss in of_model.values()]
        return waits_for + sum(timed) / len(timed)
    others = [loss for loss in elsewhere if loss.num_parameters > 0]
    if others:
        rate = sum(loss.seconds for loss in others) / sum(loss.num_parameters for loss in others)
        return waits_for + rate * sheet.num_parameters
    computing = sheet.num_parameters * _OPERATIONS / _GUESSED_RATE
    return waits_for + _GUESSED_START_S + computing


def _is_bad(candidate: Candidate) -> bool:
    return candidate.loss is not None and candidate.loss.is_bad
