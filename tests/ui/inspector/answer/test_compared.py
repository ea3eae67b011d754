"""Choosing the other answer, and showing both."""

import pytest

from tests.helpers.reports import make_report
from ui.inspector.answer.compared import ComparedSection
from ui.inspector.answer.comparing import Looked, comparison


@pytest.fixture
def section(qtbot):
    made = ComparedSection()
    qtbot.addWidget(made)
    made.show()
    return made


def test_the_chosen_answer_is_told_by_its_message(section, qtbot):
    section.set_others([(7, "130 tok/s, one"), (5, "60 tok/s, two")], None)
    assert section.box.currentText() == "nothing"
    with qtbot.waitSignal(section.chosen) as told:
        section.box.setCurrentIndex(2)
        section.box.activated.emit(2)
    assert told.args == [5]
    section.set_others([(9, "new"), (7, "130 tok/s, one"), (5, "60 tok/s, two")], 5)
    assert section.box.currentData() == 5


def test_without_another_answer_there_is_nothing_to_see(section):
    report = make_report()
    assert not section.table.isVisible()
    section.show_comparison(comparison(Looked(report.timeline, report), Looked(report.timeline)))
    assert section.table.isVisible()
    assert section.text == "Both were written equally fast, within 5%."
    assert section.table.accessibleDescription()
    section.show_comparison(None)
    assert not section.table.isVisible()
