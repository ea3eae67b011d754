"""A schema is taken once it can be used; why one cannot stands under its setting."""

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
    for _step in panel.steps():
        pass
    qtbot.addWidget(panel)
    return panel


@pytest.fixture
def settings(panel):
    settings = Settings()
    panel.changed.connect(settings.set)
    return settings


@pytest.fixture
def edit(panel, settings):
    tasks = Later()
    checked = AnswerFormat(panel, settings, tasks, check)

    def change(text):
        panel.row("json_schema").changed.emit("json_schema", text)
        return tasks

    change.checked = checked
    return change


def problem(panel):
    return panel.row("json_schema").problem


def test_a_reason_in_one_sentence(panel, edit):
    edit("[]").finish()
    assert problem(panel) == (
        "This schema cannot be used: it is not a JSON object. Answers stay free text."
    )
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


def test_a_wrong_schema_leaves_the_one_before_in_force(panel, settings, edit):
    edit("{}").finish()
    assert settings.text("json_schema") == "{}"
    edit("[]").finish()
    assert settings.text("json_schema") == "{}"
    assert problem(panel).endswith("The one before stays in force.")
    edit.checked.refresh()  # some other setting was changed
    assert problem(panel).endswith("The one before stays in force.")
    edit('{"type": "object"}').finish()
    assert settings.text("json_schema") == '{"type": "object"}'
    assert problem(panel) == ""


def test_back_to_the_one_in_force_after_a_wrong_one(panel, settings, edit):
    edit("{}").finish()
    edit("[]").finish()
    edit("{}").finish()
    assert settings.text("json_schema") == "{}"
    assert problem(panel) == ""


def test_a_schema_is_not_in_force_before_it_was_checked(settings, edit):
    tasks = edit("{}")
    assert settings.text("json_schema") == ""
    tasks.finish()
    assert settings.text("json_schema") == "{}"


def test_emptying_takes_effect_at_once(settings, edit):
    edit("{}").finish()
    edit("")
    assert settings.text("json_schema") == ""


@pytest.mark.parametrize("before", ["", "{}"])
def test_a_reset_gives_the_draft_up(panel, settings, edit, before):
    tasks = edit(before)
    if before:
        tasks.finish()
    edit("[]").finish()
    settings.set("json_schema", "")
    panel.set_value("json_schema", "")
    edit.checked.refresh()
    assert problem(panel) == ""
    assert settings.text("json_schema") == ""
    edit("[]").finish()
    assert problem(panel), "the same text is looked at again"
