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


def test_an_older_answer_offers_the_way_back(view, qtbot):
    view.show_report(make_report())
    view.show()
    view.set_answer("\u201cParis.\u201d", is_latest=True)
    assert not view._latest.isVisible()
    view.set_answer("\u201cParis.\u201d", is_latest=False)
    with qtbot.waitSignal(view.latest_wanted):
        view._latest.click()


def test_only_what_was_observed_can_be_kept(view):
    view.show_report(make_report())
    assert view.export._json.isEnabled()
    view.show_timeline(make_report().timeline)
    assert not view.export._json.isEnabled()


def test_gaps_are_shown_of_what_was_observed(view):
    view.show_report(make_report())
    view.show()
    assert view.itl.isVisible()
    view.show_timeline(make_report().timeline)
    assert not view.itl.isVisible()


def test_the_same_report_again_costs_nothing(view, monkeypatch):
    report = make_report()
    view.show_report(report)
    filled = []
    monkeypatch.setattr(view.itl, "set_report", filled.append)
    view.show_report(report)
    assert filled == []
    view.show_nothing()
    view.show_report(report)
    assert filled == [report]
