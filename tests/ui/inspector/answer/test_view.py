"""The Answer view."""

import pytest

from tests.helpers.reports import make_report
from ui.inspector.answer.view import AnswerView
from ui.theme import ThemeSource


@pytest.fixture
def view(qtbot):
    made = AnswerView(ThemeSource())
    qtbot.addWidget(made)
    return made


def test_the_sentence_of_a_report_and_of_a_timeline_is_one(view):
    report = make_report()
    view.show_report(report)
    shown = view.text
    view.show_timeline(report.timeline)
    assert view.text == shown
    view.show_nothing()
    assert view.text != shown
