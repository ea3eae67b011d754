"""The settings' rows come while nothing else is to do, or when the page is looked at."""

import pytest

from app.controllers.precision import PrecisionController
from tests.helpers.desk import Desk
from ui.settings.panel import SETTINGS, SettingsPanel
from ui.settings.precision_panel import PrecisionPanel


@pytest.fixture
def panel(desk):
    return desk.window.findChild(SettingsPanel)


def test_the_rows_are_made_when_the_page_is_opened_and_the_first_has_the_keyboard(desk, panel):
    assert not desk.application.parts.is_made(SETTINGS)
    assert panel._rows == {}
    desk.window.show_settings()
    assert desk.window.focusWidget() is panel
    desk.wait(lambda: desk.application.parts.is_made(SETTINGS))
    assert panel.isAncestorOf(desk.window.focusWidget())
    assert desk.window.focusWidget() is panel.row("model_path").editor.input_widget()


def test_what_was_set_before_is_shown(desk, panel):
    desk.application.controllers.settings.change("temperature", 1.25)
    desk.window.show_settings()
    desk.wait(lambda: desk.application.parts.is_made(SETTINGS))
    assert panel.row("temperature").editor.input_widget().value() == 1.25
    assert panel.row("gpu_budget_mib").isHidden()


def test_the_precisions_stand_below_their_setting_and_are_told_that_somebody_looks(desk, panel):
    precisions = desk.window.findChild(PrecisionPanel)
    seen = []
    precisions.shown.connect(lambda: seen.append(1))
    desk.window.show_settings()
    desk.wait(lambda: desk.application.parts.is_made(SETTINGS))
    desk.wait(lambda: bool(seen))
    column = panel._column
    assert column.indexOf(precisions) == column.indexOf(panel.row("weights")) + 1
    assert isinstance(desk.application.controllers.precision, PrecisionController)


def test_a_window_that_opens_on_the_settings_has_them(qtbot, isolated_home):
    desk = Desk(qtbot, isolated_home, is_whole=False)
    try:
        desk.window._panel.show_page(desk.window.findChild(SettingsPanel))
        desk.begin()
        desk.wait(lambda: desk.application.parts.is_made(SETTINGS))
    finally:
        desk.close()


def test_a_window_whose_settings_were_never_seen_ends(qtbot, isolated_home):
    desk = Desk(qtbot, isolated_home, is_whole=False)
    try:
        desk.begin()
        assert not desk.application.parts.is_made(SETTINGS)
    finally:
        desk.close()
