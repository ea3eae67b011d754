"""The table and the verdict follow the settings, the model and what is measured."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

from engine.api import Fit, Precision
from engine.errors import ModelCorruptError
from tests.helpers.fake_inspector import SHEET, FakeInspector, FakeMeasurement, lines
from ui.settings.panel import SettingsPanel
from ui.settings.precision_panel import PrecisionPanel


@pytest.fixture(autouse=True)
def inspector(monkeypatch):
    fake = FakeInspector()
    monkeypatch.setattr("app.composition.EngineInspector", lambda: fake)
    monkeypatch.setattr("app.composition.Measurement", FakeMeasurement)
    return fake


@pytest.fixture
def seen(make_desk):
    """The window with its settings open."""
    desk = make_desk().begin()
    desk.window.show()
    desk.window.show_settings()
    return desk


def page(desk):
    return desk.window.findChild(PrecisionPanel)


def panel(desk):
    return desk.window.findChild(SettingsPanel)


def measurement(desk):
    direct = Qt.FindChildOption.FindDirectChildrenOnly  # the machine's own hangs on the watch
    return page(desk).findChild(FakeMeasurement, options=direct)


def rows(desk):
    return {row.key: row for row in page(desk).table.rows}


def test_nothing_is_looked_at_before_the_settings_are_open(inspector, make_desk):
    desk = make_desk().begin()
    assert inspector.asked == []
    desk.window.show()
    desk.window.show_settings()
    assert list(rows(desk)) == ["int4", "int8", "bf16", "fp32"]


def test_the_loaded_model_gives_its_memory_back(inspector, seen):
    info = seen.application.controllers.model.info
    assert inspector.freed[-1] == info.weights_bytes + info.kv_budget_bytes


def test_a_click_is_the_setting(seen):
    assert rows(seen)["int8"].isChecked()
    rows(seen)["bf16"].click()
    settings = seen.application.services.settings
    assert settings["weights"] == "bf16"
    box = panel(seen).row("weights").editor.input_widget()
    assert box.currentData() == "bf16"
    assert rows(seen)["bf16"].isChecked()
    assert not rows(seen)["int8"].isChecked()


def test_the_setting_moves_the_mark(seen):
    panel(seen).changed.emit("weights", "fp32")
    assert rows(seen)["fp32"].isChecked()


def test_the_verdict_stands_beside_the_reload_bar_while_one_is_needed(inspector, seen):
    assert panel(seen)._forecast.text == ""
    rows(seen)["bf16"].click()
    assert panel(seen)._forecast.text == "Needs ~1 GiB of 9 GiB free: fits."
    inspector.foresights = lines(bf16=Fit.TOO_LARGE, int4=Fit.TOO_LARGE, int8=Fit.TOO_LARGE)
    panel(seen).changed.emit("context_length", 1024)
    assert "too large" in panel(seen)._forecast.text
    assert inspector.asked[-1].context_length == 1024
    panel(seen).reload_requested.emit()
    seen.play()
    assert panel(seen)._forecast.text == ""


def test_until_the_planner_has_answered_no_verdict_is_shown(seen, monkeypatch):
    watch = seen.application.controllers.precision._watch
    monkeypatch.setattr(watch, "refresh", lambda: None)
    panel(seen).changed.emit("context_length", 1024)
    assert panel(seen)._forecast.text == "Working out what it needs…"
    panel(seen).changed.emit("context_length", None)
    assert panel(seen)._forecast.text == ""


@pytest.mark.parametrize(
    ("key", "value"), [("kv", "int8"), ("kv_budget_mib", 64), ("gpu_budget_mib", 512)]
)
def test_every_setting_that_takes_memory_is_asked_with(inspector, seen, key, value):
    panel(seen).changed.emit(key, value)
    assert panel(seen)._forecast.text
    assert inspector.asked[-1] == replace(
        seen.application.controllers.model.wanted, weights=inspector.asked[-1].weights
    )


def test_calibration_is_announced_before_it_begins(inspector, seen):
    inspector.model = replace(SHEET, calibration_s=240.0)
    panel(seen).changed.emit("weights", "int4-calibrated")
    assert "~4 min" in panel(seen)._forecast.wait
    assert "Made first, ~4 min, once" in rows(seen)["int4-calibrated"].texts
    panel(seen).reload_requested.emit()
    seen.play()
    loaded = seen.engine.loads[-1]
    assert loaded.calibrated
    assert loaded.weights is Precision.INT4


def test_the_gpu_budget_is_there_where_a_gpu_is(inspector, make_desk):
    desk = make_desk().begin()
    desk.window.show()
    desk.window.show_settings()
    row = panel(desk).row("gpu_budget_mib")
    assert row.isHidden()
    inspector.gpu = True
    panel(desk).changed.emit("context_length", 512)
    assert not row.isHidden()


def test_a_model_that_cannot_be_read_is_a_sentence_in_place_of_the_table(inspector, seen):
    inspector.problem = ModelCorruptError("Damaged.", path="/m/bad.gguf", reason="short")
    panel(seen).changed.emit("context_length", 512)
    assert page(seen).table.isHidden()
    assert "bad.gguf" in page(seen)._note.text()
    inspector.problem = None
    panel(seen).changed.emit("context_length", 1024)
    assert not page(seen).table.isHidden()
    assert page(seen)._note.text() == ""


def test_measuring_fills_the_table_and_is_there_next_time(seen, make_desk):
    bar = page(seen).bar
    assert bar.button.text() == "Measure the loss"
    bar.button.click()
    program = measurement(seen)
    assert program.started[0][:3] == ["eval", "--model", str(seen.paths.starter_model)]
    program.progressed.emit(0.34)
    assert bar.texts == ["Measuring INT4, 1 of 3: 34%"]
    program.finish(0.85)
    assert "Loses noticeably" in rows(seen)["int4"].texts
    for _ in range(2):
        program.finish(0.95)
    assert [arguments[4] for arguments in program.started] == ["int4", "int8", "bf16"]
    assert "95.0% same token" in rows(seen)["int8"].texts
    assert bar.button.text() == "Measure again"
    assert bar.texts == ["~2 min"]  # three runs of 50 s
    seen.close()
    again = make_desk(has_model=False).begin()  # the file of before is still there
    again.window.show()
    again.window.show_settings()
    assert "95.0% same token" in rows(again)["int8"].texts


def test_a_precision_that_cannot_be_measured_is_told(seen):
    page(seen).bar.button.click()
    measurement(seen).fail("The model needs 3 GB and 1 GB is free.")
    assert page(seen).bar.texts[-1] == (
        "INT4 could not be measured. The model needs 3 GB and 1 GB is free."
    )


def test_cancel_and_closing_leave_nothing_running(seen):
    page(seen).bar.button.click()
    page(seen).bar.cancel_button.click()
    assert not measurement(seen).is_running
    assert not page(seen).bar.button.isHidden()
    page(seen).bar.button.click()
    program = measurement(seen)
    assert program.is_running
    assert seen.application.close()
    assert not program.is_running
