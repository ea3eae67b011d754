"""Reports outlive the run in which they were made."""

import pytest

from app.controllers.inspector.inspected import InspectedAnswer
from app.controllers.inspector.kept_reports import KeptReports
from app.store.errors import StoreError
from tests.helpers.fake_engine import Script
from tests.helpers.reports import make_report


@pytest.fixture
def desk(make_desk):
    return make_desk(Script()).begin()


def _answer(desk, text="Hi"):
    desk.send(text)
    desk.play()
    return desk.rows[-1].message_id


def _another_run(desk):
    """What a new start knows: nothing but what is on disk."""
    services = desk.application.services
    inspected = InspectedAnswer(desk.chat, services.bridge)
    KeptReports(inspected, services)
    return inspected


def test_a_complete_report_is_found_again(desk):
    message_id = _answer(desk)
    report = make_report(f"{message_id}.1")
    desk.application.services.bridge.answer_explained.emit(report)
    inspected = _another_run(desk)
    told = []
    inspected.reported.connect(told.append)
    assert inspected.report is None
    inspected.open(message_id)
    assert told == [report]
    assert inspected.report == report


def test_a_report_under_way_is_not_written(desk):
    message_id = _answer(desk)
    bridge = desk.application.services.bridge
    bridge.answer_explained.emit(make_report(f"{message_id}.1", is_complete=False))
    bridge.answer_explained.emit(make_report("experiment.1"))
    assert desk.store.report(message_id) is None


def test_an_answer_without_one_is_looked_for_once(desk, monkeypatch):
    message_id = _answer(desk)
    inspected = _another_run(desk)
    asked = []
    monkeypatch.setattr(desk.store, "report", asked.append)
    for _ in range(3):
        inspected.open(message_id)
    assert asked == [message_id]


def test_a_disk_that_fails_is_no_news(desk, monkeypatch):
    message_id = _answer(desk)

    def fail(*_):
        raise StoreError("No.", reason="no")

    monkeypatch.setattr(desk.store, "report", fail)
    monkeypatch.setattr(desk.store, "save_report", fail)
    inspected = _another_run(desk)
    inspected.open(message_id)
    desk.application.services.bridge.answer_explained.emit(make_report(f"{message_id}.1"))
    assert inspected.report is not None
    assert desk.notices == []
