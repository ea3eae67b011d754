"""The tint says one thing in one hue, and text on it stays readable."""

import pytest

from tests.helpers.inspected_tokens import some_tokens
from ui.inspector.tokens.tint import MOST_BITS, STEPS, TintBy, TintLegend, doubt, ramp
from ui.theme import DARK, LIGHT, ThemeSource


def luminance(color):
    parts = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color.getRgbF())
    red, green, blue, *_ = parts
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_text_is_readable_on_every_step_and_steps_differ_in_lightness(theme):
    themes = ThemeSource(theme)
    colors = ramp(themes)
    assert len(colors) == STEPS + 1
    lights = [luminance(color) for color in colors]
    assert lights == sorted(lights, reverse=theme is LIGHT)
    text = luminance(themes.color("text"))
    for light in lights:
        high, low = max(text, light), min(text, light)
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_less_sure_is_stronger():
    prompt, *_, yes, comma, sir = some_tokens()
    assert doubt(prompt, TintBy.PROBABILITY) is None
    by_probability = [doubt(token, TintBy.PROBABILITY) for token in (yes, comma, sir)]
    assert by_probability == [0.25, 0.75, 0.9375]
    by_entropy = [doubt(token, TintBy.ENTROPY) for token in (yes, comma, sir)]
    assert by_entropy == [1.5 / MOST_BITS, 3 / MOST_BITS, 6 / MOST_BITS]


def test_the_legend_names_its_ends(qtbot):
    legend = TintLegend(ThemeSource())
    qtbot.addWidget(legend)
    assert "100%" in legend.accessibleName()
    legend.set_kind(TintBy.ENTROPY)
    assert "8 bits" in legend.accessibleName()
    legend.resize(legend.sizeHint())
    assert not legend.grab().isNull()
