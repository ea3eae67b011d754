"""The inspector's views come when they are looked at, and miss nothing that was told before."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QWidget

from app.late.inspector import VIEWS
from engine.api import EngineStats
from tests.helpers.reports import make_report
from ui.chat.page import ChatPage
from ui.inspector.answer.view import AnswerView
from ui.inspector.cache.view import CacheView
from ui.inspector.machine.view import MachineView
from ui.inspector.page import InspectorPage
from ui.inspector.tokens.view import TokensView
from ui.widgets.tab_order import stops_in

KINDS = dict(zip(VIEWS, (AnswerView, TokensView, CacheView, MachineView), strict=True))
MIB = 1 << 20
STATS = EngineStats(1, 0, 0, 0, 128, MIB, 0, 0, 90 * MIB, 128 * MIB, 500 * MIB, 0, 1_024 * MIB)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_made_when_it_is_looked_at(desk, name):
    assert desk.window.findChild(KINDS[name]) is None
    desk.window.show_inspector()
    desk.window.findChild(InspectorPage).show_view(name)
    desk.wait(lambda: desk.application.parts.is_made(name))
    view = desk.window.findChild(KINDS[name])
    assert view.isVisible()
    others = {kind for other, kind in KINDS.items() if other not in {name, "answer"}}
    assert [kind for kind in others if desk.window.findChild(kind) is not None] == []


def test_a_report_that_came_before_the_view_is_shown(desk):
    desk.send("Why?")
    desk.play()
    answer = desk.chat.open_chat.last_answer
    report = make_report(request_id=f"{answer.message_id}.1")
    desk.application.services.bridge.answer_explained.emit(report)
    desk.window.show_inspector()
    desk.wait(lambda: desk.application.parts.is_made("answer"))
    view = desk.window.findChild(AnswerView)
    assert view._shown is report
    assert view.diagnosis.state == desk.window._pages.meters.diagnosis.state
    assert not view.diagnosis.state.is_empty


def test_gauges_that_came_before_the_view_are_shown(desk):
    desk.application.services.bridge.stats_changed.emit(STATS)
    desk.window.show_inspector()
    desk.window.findChild(InspectorPage).show_view("machine")
    desk.wait(lambda: desk.application.parts.is_made("machine"))
    view = desk.window.findChild(MachineView)
    desk.wait(view._memory.isVisible)


def test_the_rest_comes_when_the_engine_is_idle(desk):
    desk.wait(lambda: all(map(desk.application.parts.is_made, VIEWS)))
    for kind in KINDS.values():
        assert desk.window.findChild(kind) is not None


def is_within_box(widget):
    """Whether a box stands for it."""
    return isinstance(widget.parent(), QAbstractSpinBox | QComboBox)


def test_the_tab_key_goes_from_the_views_names_into_a_view_and_loses_nothing(desk):
    desk.wait(lambda: all(map(desk.application.parts.is_made, VIEWS)))
    window = desk.window
    page = window.findChild(InspectorPage)
    stops = stops_in(window)
    assert len(set(stops)) == len(stops)
    assert window.findChild(ChatPage).composer.input in stops
    places = [place for place, stop in enumerate(stops) if page.isAncestorOf(stop)]
    assert places == list(range(places[0], places[-1] + 1))  # nothing else is between them
    inside = [w for w in page.findChildren(QWidget) if w.focusPolicy() & Qt.FocusPolicy.TabFocus]
    inside = [w for w in inside if w.window() is window and not is_within_box(w)]
    assert {stops[place] for place in places} == set(inside)
