"""What the menu of models offers, and what it says was chosen."""

import pytest
from PySide6.QtWidgets import QFileDialog, QWidget

from ui.widgets.model_menu import ModelMenu
from ui.widgets.model_pill import PillStatus


@pytest.fixture
def parent(qtbot):
    made = QWidget()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def menu(parent):
    return ModelMenu(parent)


def actions_of(menu):
    menu.fill()
    return {action.text(): action for action in menu.actions() if action.text()}


def test_reloading_is_offered_after_a_failure_and_unloading_is_not(menu):
    menu.set_status(PillStatus.FAILED)
    offered = actions_of(menu)
    assert offered["Reload"].isEnabled()
    assert not offered["Unload"].isEnabled()


@pytest.mark.parametrize(
    ("text", "asked"),
    [("Choose a model file\u2026", "file"), ("Choose a model folder\u2026", "folder")],
)
def test_what_was_picked_is_told_and_nothing_where_it_was_not(menu, monkeypatch, text, asked):
    picked = iter((f"/m/{asked}", ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (next(picked), ""))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: next(picked))
    told = []
    menu.file_chosen.connect(told.append)
    for _ in range(2):
        actions_of(menu)[text].trigger()
    assert told == [f"/m/{asked}"]


def test_a_model_in_another_programs_store_has_a_name(menu):
    blob = f"/store/blobs/sha256-{64 * 'a'}"
    menu.set_recent_models([f"{blob}\tTiny Llama", "/m/b.gguf"])
    menu.fill()
    recent = [action for action in menu.actions() if action.data()]
    assert [action.text() for action in recent] == ["Tiny Llama", "b.gguf"]
    assert recent[0].data() == blob


def test_recent_models_are_told_by_their_path(menu):
    menu.set_recent_models(["/m/a.gguf", "/n/b.gguf"])
    told = []
    menu.recent_chosen.connect(told.append)
    actions_of(menu)["b.gguf"].trigger()
    assert told == ["/n/b.gguf"]
