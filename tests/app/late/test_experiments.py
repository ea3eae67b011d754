"""The page of experiments comes when it is wanted, with the experiment that was asked for."""

import pytest

from app.late.experiments import EXPERIMENTS
from ui.experiments.choice import ExperimentButton
from ui.experiments.page import ExperimentsPage
from ui.inspector.cache.view import CacheView
from ui.meters.live import LiveMeters


def test_the_page_is_made_when_it_is_shown_and_takes_the_keyboard(desk):
    assert desk.window.findChild(ExperimentsPage) is None
    desk.window.show_experiments()
    desk.wait(lambda: desk.application.parts.is_made(EXPERIMENTS))
    page = desk.window.findChild(ExperimentsPage)
    assert page.isVisible()
    assert page.isAncestorOf(desk.window.focusWidget())
    page.closed.emit()
    assert not page.isVisible()


def test_an_experiment_that_was_asked_for_before_is_chosen(desk):
    desk.window.findChild(LiveMeters).experiment_requested.emit()
    desk.wait(lambda: desk.application.parts.is_made(EXPERIMENTS))
    page = desk.window.findChild(ExperimentsPage)
    assert page.isVisible()
    assert page.details._row.name == "cache"


@pytest.mark.parametrize("is_made", [False, True])
def test_the_keyboard_is_where_the_experiment_is_that_was_asked_for(desk, is_made):
    parts = desk.application.parts
    if is_made:
        desk.window.show_experiments()
        desk.wait(lambda: parts.is_made(EXPERIMENTS))
        desk.window.findChild(ExperimentsPage).choose("streams")
        desk.window.show_chat()
    parts.want("cache")
    desk.wait(lambda: parts.is_made("cache"))
    desk.window.findChild(CacheView).loss_requested.emit()
    desk.wait(lambda: parts.is_made(EXPERIMENTS))
    focused = desk.window.focusWidget()
    assert isinstance(focused, ExperimentButton)
    assert focused.row.name == "kv"
    assert focused.isChecked()
