"""Changes reach the file, the window and the next start."""

import json

import pytest

from app.settings.declared import FIELDS
from app.settings.values import Settings
from ui.settings.panel import SettingsPanel
from ui.theme import DARK, LIGHT


@pytest.fixture
def panel(desk):
    return desk.window.findChild(SettingsPanel)


def stored(desk):
    return json.loads(desk.paths.settings.read_text(encoding="utf-8"))


def themes(desk):
    return desk.window._themes


def test_a_change_is_on_disk_at_once(desk, panel):
    panel.changed.emit("temperature", 0.25)
    assert stored(desk)["temperature"] == 0.25
    assert Settings.load(desk.paths.settings)["temperature"] == 0.25


def test_scheme_and_zoom_apply_at_once(desk, panel):
    panel.changed.emit("scheme", "dark")
    assert themes(desk).theme is DARK
    panel.changed.emit("scheme", "light")
    assert themes(desk).theme is LIGHT
    panel.changed.emit("zoom", 1.5)
    assert themes(desk).zoom == 1.5


def test_zoom_by_key_is_the_setting(desk, monkeypatch, panel):
    shown = []
    monkeypatch.setattr(panel, "set_value", lambda *pair: shown.append(pair))
    desk.window.zoom_changed.emit(1.25)
    assert stored(desk)["zoom"] == 1.25
    assert shown == [("zoom", 1.25)]


def test_the_language_says_when_it_changes(desk, panel):
    panel.changed.emit("language", "zh_CN")
    assert "starts again" in desk.notices[-1]
    assert stored(desk)["language"] == "zh_CN"


def test_reset_gives_the_defaults_and_forgets_no_model(desk, panel):
    panel.changed.emit("temperature", 1.9)
    panel.changed.emit("scheme", "dark")
    panel.reset_requested.emit()
    assert stored(desk)["temperature"] == FIELDS["temperature"].default
    assert stored(desk)["scheme"] == "system"
    assert stored(desk)["recent_models"]


def test_a_reset_can_be_undone(desk, panel):
    panel.changed.emit("system_prompt", "Answer in rhymes.")
    panel.changed.emit("scheme", "dark")
    panel.reset_requested.emit()
    assert stored(desk)["system_prompt"] == ""
    desk.window.notice_action.emit()
    assert stored(desk)["system_prompt"] == "Answer in rhymes."
    assert stored(desk)["scheme"] == "dark"
    assert not desk.window._notice.isVisible()


def test_a_file_that_cannot_be_written_is_one_sentence(desk, panel):
    desk.paths.settings.unlink(missing_ok=True)
    desk.paths.config.rmdir()
    desk.paths.config.write_text("in the way")
    panel.changed.emit("temperature", 0.25)
    assert "could not be saved" in desk.notices[-1]
    assert desk.application.services.settings["temperature"] == 0.25


def test_the_windows_shape_is_kept(make_desk):
    desk = make_desk().begin()
    desk.window.resize(1000, 700)
    assert desk.application.close()
    layout = Settings.load(desk.paths.settings).text("window_layout")
    assert layout == desk.window.save_layout()


def test_the_context_of_ones_own_begins_at_the_models(desk, panel):
    panel.row("context_length").editor._automatic.click()
    assert stored(desk)["context_length"] == desk.application.controllers.model.info.context_length
