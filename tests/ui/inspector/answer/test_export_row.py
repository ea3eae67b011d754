"""Keeping a report in a file."""

import pytest
from PySide6.QtWidgets import QFileDialog, QPushButton

from engine.api import TraceFormat
from ui.inspector.answer.export_row import ExportRow
from ui.theme import ThemeSource


@pytest.fixture
def row(qtbot):
    made = ExportRow(ThemeSource())
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.mark.parametrize("number", [0, 1])
def test_a_chosen_file_is_told_with_its_format(row, monkeypatch, number):
    paths = iter(("/t/x.json", ""))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (next(paths), ""))
    told = []
    row.wanted.connect(lambda *args: told.append(args))
    for _ in range(2):
        row.findChildren(QPushButton)[number].click()
    form = (TraceFormat.CHROME, TraceFormat.JSON)[number]
    assert told == [("/t/x.json", form)]


def test_the_outcome_is_a_sentence_that_goes_away(row):
    row.show_outcome("Saved as /t/x.json.", is_problem=False)
    assert row._outcome.isVisible()
    row.show_outcome("", is_problem=False)
    assert not row._outcome.isVisible()


def test_without_a_report_there_is_nothing_to_keep(row):
    row.set_possible(is_possible=False)
    assert not any(button.isEnabled() for button in row.findChildren(QPushButton))
