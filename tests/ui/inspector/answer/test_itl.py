"""The section about the times between tokens."""

from dataclasses import replace

import pytest

from tests.helpers.reports import make_report
from ui.inspector.answer.itl import ItlSection
from ui.theme import ThemeSource


@pytest.fixture
def section(qtbot):
    made = ItlSection(ThemeSource())
    qtbot.addWidget(made)
    made.show()
    return made


def test_figures_stalls_and_both_speeds_are_said(section):
    section.set_report(make_report())
    lines = section.text.splitlines()
    assert lines[0] == "p50 10.0 \u00b7 p95 10.0 \u00b7 p99 10.0 \u00b7 max 150 ms"
    assert lines[1] == "Engine: 100 tok/s."
    assert lines[2].startswith("Window: a token is on the screen 4.0 ms")
    assert lines[3] == "\u25b2 token 51: 150 ms, Python collected garbage"


def test_an_answer_of_one_token_has_no_gaps(section):
    report = make_report()
    section.set_report(replace(report, times_ns=report.times_ns[:1], stalls=()))
    assert "p50" not in section.text


def test_an_even_answer_has_no_stalls(section):
    report = make_report()
    section.set_report(replace(report, times_ns=report.times_ns[:40], stalls=()))
    assert "No stalls." in section.text


def test_the_drawings_can_be_read_as_a_table(section):
    section.set_report(make_report())
    assert not section._table.isVisible()
    section._as_table.click()
    assert section._table.isVisible()
    assert section._table.item(0, 0).text() == "p50"
    section._as_table.click()
    assert not section._table.isVisible()
