import pytest

from ui.richtext.code_colors import CODE_COLORS, CodeColors
from ui.theme import DARK, LIGHT


def luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_every_colour_can_be_read_on_the_code_ground(theme):
    for kind, color in CODE_COLORS[theme.name].items():
        assert contrast(color, theme.code) >= 4.5, kind


def test_both_schemes_colour_the_same_kinds():
    assert CODE_COLORS["light"].keys() == CODE_COLORS["dark"].keys()


def test_a_kind_takes_its_nearest_parents_colour():
    colors = CodeColors("light")
    found = colors.format_of("Literal.Number.Integer")
    assert found is not None
    assert found.foreground().color().name().upper() == CODE_COLORS["light"]["Literal.Number"]
    assert colors.format_of("Name") is None
    assert colors.format_of("") is None
