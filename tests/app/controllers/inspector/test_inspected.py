"""Which answer is looked at, and its reports."""

from dataclasses import replace

import pytest

from app.controllers.inspector.inspected import KEPT, InspectedAnswer, message_id_of
from tests.helpers.fake_engine import Script
from tests.helpers.reports import make_report


@pytest.fixture
def desk(make_desk):
    return make_desk(Script()).begin()


@pytest.fixture
def inspected(desk):
    return InspectedAnswer(desk.application.controllers.chat, desk.application.services.bridge)


def _answer(desk, text):
    desk.send(text)
    desk.play()
    return desk.rows[-1].message_id


def test_the_latest_answer_is_looked_at(desk, inspected):
    assert inspected.message is None
    first = _answer(desk, "Hi")
    assert inspected.message.message_id == first
    inspected.choose(first)
    assert not inspected.is_latest
    second = _answer(desk, "More")
    assert inspected.message.message_id == second
    assert inspected.is_latest


def test_reports_belong_to_their_answers(desk, inspected):
    told = []
    inspected.reported.connect(told.append)
    first = _answer(desk, "Hi")
    report = make_report(f"{first}.1")
    desk.application.services.bridge.answer_explained.emit(report)
    other = make_report("999.4")
    desk.application.services.bridge.answer_explained.emit(other)
    desk.application.services.bridge.answer_explained.emit(make_report("experiment.1"))
    assert told == [report] == [inspected.report]
    assert inspected.report_of(999) is other


def test_opening_one_says_so(desk, inspected):
    opened = []
    inspected.opened.connect(lambda: opened.append(inspected.message.message_id))
    first = _answer(desk, "Hi")
    _answer(desk, "More")
    inspected.open(first)
    assert opened == [first]


def test_reports_are_not_kept_for_ever(inspected):
    for number in range(KEPT + 5):
        inspected._on_explained(replace(make_report("1.1"), request_id=f"{number}.1"))
    assert inspected.report_of(4) is None
    assert inspected.report_of(5) is not None


def test_requests_are_named_after_their_messages():
    assert message_id_of("12.3") == 12
    assert message_id_of("experiment.3") is None
