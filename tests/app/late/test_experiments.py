"""The page of experiments comes when it is wanted, with the experiment that was asked for."""

from app.late.experiments import EXPERIMENTS
from ui.experiments.page import ExperimentsPage
from ui.meters.live import LiveMeters


def test_the_page_is_made_when_it_is_shown_and_takes_the_keyboard(desk):
    assert desk.window.findChild(ExperimentsPage) is None
    desk.window.show_experiments()
    desk.wait(lambda: desk.application.parts.is_made(EXPERIMENTS))
    page = desk.window.findChild(ExperimentsPage)
    assert page.isVisible()
    assert page.details.past is not None
    page.closed.emit()
    assert not page.isVisible()


def test_an_experiment_that_was_asked_for_before_is_chosen(desk):
    desk.window.findChild(LiveMeters).experiment_requested.emit()
    desk.wait(lambda: desk.application.parts.is_made(EXPERIMENTS))
    page = desk.window.findChild(ExperimentsPage)
    assert page.isVisible()
    assert page.details._row.name == "cache"
