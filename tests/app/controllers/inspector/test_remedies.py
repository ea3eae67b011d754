"""Remedies that were tried, by the answers they are told with."""

import pytest

from app.controllers.inspector.remedies import KEPT, Remedies
from tests.helpers.fake_engine import Script
from tests.helpers.reports import make_report


@pytest.fixture
def desk(make_desk):
    return make_desk(Script(pieces=("a ",) * 12)).begin()


@pytest.fixture
def remedies(desk):
    controllers = desk.application.controllers
    return Remedies(
        controllers.settings,
        desk.application.services.settings,
        controllers.model,
        controllers.answers,
    )


def _answer(desk, text="Hi"):
    desk.send(text)
    desk.play()
    return desk.stored()[-1]


def _try(desk, remedies, message):
    report = make_report(f"{message.message_id}.1")
    number = next(n for n, r in enumerate(report.diagnosis.remedies) if r.key == "weights")
    remedies.apply(report, number, message)
    desk.play()


def test_a_trial_is_told_with_both_its_answers(desk, remedies):
    first = _answer(desk)
    _try(desk, remedies, first)
    second = _answer(desk, "More")
    third = _answer(desk, "And more")
    trial = remedies.trial_of(first.message_id)
    assert trial.measured is not None
    assert remedies.trial_of(second.message_id) is trial
    assert remedies.trial_of(third.message_id) is None


def test_only_the_last_of_several_is_measured(desk, remedies):
    first = _answer(desk)
    for _ in range(KEPT + 3):
        _try(desk, remedies, first)
    assert len(remedies._trials) == 1


def test_undoing_what_was_never_tried_does_nothing(desk, remedies):
    before = dict(desk.application.services.settings.values())
    remedies.undo(_answer(desk).message_id)
    assert dict(desk.application.services.settings.values()) == before
