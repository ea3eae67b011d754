"""How a memory verdict looks: its icon, its colour and its word say the same."""

from collections.abc import Mapping

from engine.api import Fit
from ui.i18n import mark, tr
from ui.icons import Icon

FIT_ICONS: Mapping[Fit, Icon] = {
    Fit.FITS: Icon.CHECK,
    Fit.TIGHT: Icon.INFO,
    Fit.TOO_LARGE: Icon.WARNING,
}
FIT_COLORS: Mapping[Fit, str] = {Fit.FITS: "accent", Fit.TIGHT: "text", Fit.TOO_LARGE: "danger"}
_FIT_WORDS: Mapping[Fit, str] = {
    Fit.FITS: mark("Fits"),
    Fit.TIGHT: mark("Barely fits"),
    Fit.TOO_LARGE: mark("Too large"),
}


def fit_words(fit: Fit) -> str:
    """The verdict."""
    return tr(_FIT_WORDS[fit])
