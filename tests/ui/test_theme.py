import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel

from tests.ui.richtext.test_code_colors import contrast
from ui.theme import DARK, LIGHT, ThemeSource, palette_of, set_look, style_sheet

GROUNDS = ("background", "surface", "sidebar", "bubble", "code")


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_texts_can_be_read_on_every_ground(theme):
    for ground in GROUNDS:
        for text in ("text", "muted", "accent", "danger"):
            assert contrast(getattr(theme, text), getattr(theme, ground)) >= 4.5, (text, ground)
    assert contrast(theme.on_accent, theme.accent) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_sheet_has_no_gaps_and_follows_the_zoom(theme):
    sheet = style_sheet(theme)
    assert "$" not in sheet
    doubled = style_sheet(theme, 2.0)
    assert "border-radius: 8px" in sheet
    assert "border-radius: 16px" in doubled
    assert "border: 1px solid" in doubled


def test_a_source_tells_of_changes_only(qtbot):
    source = ThemeSource()
    with qtbot.waitSignal(source.changed):
        source.set(DARK, 1.0)
    with qtbot.assertNotEmitted(source.changed):
        source.set(DARK, 1.0)
    source.set(DARK, 99.0)
    assert source.zoom == 2.5
    assert source.px(10) == 25
    assert source.px(0.1) == 1


def test_the_palette_takes_the_themes_colours():
    palette = palette_of(DARK)
    assert palette.color(QPalette.ColorRole.Window).name().upper() == DARK.background


def test_a_look_can_change_while_shown(qtbot):
    label = QLabel("x")
    qtbot.addWidget(label)
    set_look(label, "small")
    assert label.property("look") == "small"
