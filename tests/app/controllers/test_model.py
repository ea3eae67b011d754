"""Loading at start, by choice, again; failing, cancelling, unloading; what is remembered."""

import pytest

from app.application import StartOptions
from engine.api import Failure
from engine.errors import ModelCorruptError
from tests.helpers.fake_engine import Script
from ui.widgets.model_pill import PillStatus

CORRUPT = Failure.of(ModelCorruptError("Damaged.", path="/m/bad.gguf", reason="truncated"))


def pill(desk):
    return desk.window._top.pill.state


def settings(desk):
    return desk.application.services.settings


def test_the_starter_model_is_loaded_at_start(desk):
    assert desk.engine.loads[0].path == str(desk.paths.starter_model)
    assert pill(desk).status is PillStatus.READY
    assert settings(desk).recent_models() == [str(desk.paths.starter_model)]
    assert settings(desk)["model_path"] is None


def test_without_any_model_one_is_asked_for(make_desk):
    desk = make_desk(has_model=False).begin()
    assert desk.engine.loads == []
    assert pill(desk).status is PillStatus.NONE


def test_the_command_lines_model_wins_and_is_not_remembered(make_desk):
    desk = make_desk(options=StartOptions(model="/m/other.gguf")).begin()
    assert [load.path for load in desk.engine.loads] == ["/m/other.gguf"]
    assert settings(desk)["model_path"] is None
    assert settings(desk).recent_models() == []


def test_a_chosen_model_is_loaded_and_then_remembered(desk):
    desk.window.model_file_chosen.emit("/m/chosen.gguf")
    assert settings(desk)["model_path"] is None
    desk.play()
    assert settings(desk)["model_path"] == "/m/chosen.gguf"
    assert settings(desk).recent_models()[0] == "/m/chosen.gguf"
    assert desk.application.controllers.model.name == "Chosen"


def test_a_load_shows_its_stages(make_desk):
    desk = make_desk()
    desk.application.begin()
    assert pill(desk).status is PillStatus.LOADING
    desk.step()
    assert pill(desk).progress == 0.5
    desk.play()
    assert pill(desk).status is PillStatus.READY


def test_a_failed_load_is_one_sentence_and_remembers_nothing(make_desk):
    desk = make_desk(Script(load_failure=CORRUPT)).begin()
    assert pill(desk).status is PillStatus.FAILED
    (notice,) = desk.notices
    assert "bad.gguf" in notice
    assert "truncated" in notice
    assert settings(desk).recent_models() == []


def test_a_failed_load_keeps_the_model_before(desk):
    desk.engine.script = Script(load_failure=CORRUPT)
    desk.window.model_file_chosen.emit("/m/bad.gguf")
    desk.play()
    assert pill(desk).status is PillStatus.READY
    assert desk.application.controllers.model.info is not None
    assert settings(desk)["model_path"] is None


def test_choosing_twice_ends_with_the_second_and_says_nothing(desk):
    desk.window.model_file_chosen.emit("/m/one.gguf")
    desk.step(2)
    desk.window.model_file_chosen.emit("/m/two.gguf")
    assert pill(desk).status is PillStatus.LOADING
    desk.play()
    assert pill(desk).name == "Two"
    assert settings(desk)["model_path"] == "/m/two.gguf"
    assert desk.notices == []


def test_cancelling_the_first_load_leaves_no_model(make_desk):
    desk = make_desk()
    desk.application.begin()
    desk.step(2)
    desk.window.load_cancel_requested.emit()
    desk.play()
    assert pill(desk).status is PillStatus.NONE
    assert desk.notices == []


def test_cancelling_a_later_load_brings_the_model_before_back(desk):
    desk.window.model_file_chosen.emit("/m/new.gguf")
    desk.step(2)
    desk.window.load_cancel_requested.emit()
    desk.play()
    assert pill(desk).status is PillStatus.READY
    assert desk.application.controllers.model.info.path == str(desk.paths.starter_model)
    assert settings(desk)["model_path"] is None


def test_unload_and_reload(desk):
    desk.window.unload_model_requested.emit()
    desk.play()
    assert pill(desk).status is PillStatus.NONE
    desk.window.reload_model_requested.emit()
    desk.play()
    assert pill(desk).status is PillStatus.READY


@pytest.mark.parametrize(
    ("key", "value", "needed"),
    [("threads", 1, True), ("weights", "int8", True), ("temperature", 0.1, False)],
)
def test_what_needs_a_reload_says_so_and_reloading_settles_it(desk, key, value, needed):
    model = desk.application.controllers.model
    panel = desk.application.controllers.settings._panel
    panel.changed.emit(key, value)
    assert model.needs_reload is needed
    panel.reload_requested.emit()
    desk.play()
    assert not model.needs_reload
    assert desk.engine.loads[-1].threads == settings(desk)["threads"]


def test_cancelling_without_a_load_does_nothing(desk):
    desk.window.load_cancel_requested.emit()
    desk.play()
    assert pill(desk).status is PillStatus.READY
