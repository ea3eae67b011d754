"""The reason why a schema cannot be used stands under its setting."""

import pytest

from app.controllers.answer_format import AnswerFormat
from app.settings.declared import SHOWN_SECTIONS
from app.settings.values import Settings
from engine.errors import InvalidRequestError
from ui.settings.panel import SettingsPanel
from ui.theme import ThemeSource


class Later:
    """Tasks that run when told."""

    def __init__(self):
        self.waiting = []

    def run(self, work, on_done=None, on_error=None):
        self.waiting.append((work, on_done, on_error))

    def finish(self):
        work, on_done, on_error = self.waiting.pop(0)
        try:
            value = work()
        except InvalidRequestError as error:
            on_error(error)
        else:
            on_done(value)


def check(schema):
    if not schema.startswith("{"):
        raise InvalidRequestError("No.", reason="it is not a JSON object")


@pytest.fixture
def panel(qtbot):
    panel = SettingsPanel(SHOWN_SECTIONS, ThemeSource())
    qtbot.addWidget(panel)
    return panel


@pytest.fixture
def edit(panel):
    settings, tasks = Settings(), Later()
    AnswerFormat(panel, settings, tasks, check)

    def change(text):
        settings.set("json_schema", text)
        panel.changed.emit("json_schema", text)
        return tasks

    return change


def problem(panel):
    return panel.row("json_schema").problem


def test_a_reason_in_one_sentence(panel, edit):
    edit("[]").finish()
    assert problem(panel) == "This schema cannot be used: it is not a JSON object."
    edit("{}").finish()
    assert problem(panel) == ""


def test_only_the_last_text_counts(panel, edit):
    edit("[1]")
    tasks = edit("{}")
    tasks.finish()
    tasks.finish()
    assert problem(panel) == ""


def test_an_empty_text_needs_no_check(panel, edit):
    edit("[]").finish()
    assert edit(" ").waiting == []
    assert problem(panel) == ""
