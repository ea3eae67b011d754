from engine.api import Fit
from ui.theme import LIGHT
from ui.widgets.fit import FIT_COLORS, FIT_ICONS, fit_words


def test_each_verdict_has_its_own_icon_colour_and_word():
    for shown in (FIT_ICONS, FIT_COLORS):
        assert len(set(shown.values())) == len(shown) == len(Fit)
    assert len({fit_words(fit) for fit in Fit}) == len(Fit)
    assert all(hasattr(LIGHT, color) for color in FIT_COLORS.values())
