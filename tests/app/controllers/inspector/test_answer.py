"""The Answer view is filled while it is seen."""

import pytest
from PySide6.QtCore import Qt

from app.controllers.inspector import answer
from app.controllers.inspector.answer import _words_of
from app.conversations import ChatMessage
from engine.api import TraceExported, TraceFormat
from tests.helpers.fake_engine import Script
from tests.helpers.reports import make_report
from ui.chat.rows import MessageStatus
from ui.inspector.answer.view import AnswerView
from ui.inspector.page import InspectorPage


@pytest.fixture
def desk(make_desk):
    desk = make_desk(Script()).begin()
    desk.window.resize(1360, 860)
    desk.window.show()
    return desk


@pytest.fixture
def view(desk):
    return desk.window.findChild(AnswerView)


def _answer(desk, text="Hi"):
    desk.send(text)
    desk.play()
    return desk.rows[-1].message_id


def test_one_click_on_the_line_under_an_answer_shows_it(desk, view, qtbot):
    _answer(desk)
    assert not view.isVisible()
    item = desk.page.messages.entries[1].item
    qtbot.mouseClick(item.stats, Qt.MouseButton.LeftButton)
    assert view.isVisible()
    assert "First token" in view.text


def test_an_observed_answer_is_shown_as_it_was_reported(desk, view):
    message_id = _answer(desk)
    desk.window.show_answer()
    before = view.text
    report = make_report(f"{message_id}.1")
    desk.application.services.bridge.answer_explained.emit(report)
    assert view.text != before


def test_a_hidden_view_is_not_filled(desk, view, monkeypatch):
    shown = []
    monkeypatch.setattr(view, "show_report", shown.append)
    message_id = _answer(desk)
    bridge = desk.application.services.bridge
    for _ in range(5):
        bridge.answer_explained.emit(make_report(f"{message_id}.1"))
    assert shown == []
    desk.window.show_inspector()
    assert len(shown) == 1
    assert desk.window.findChild(InspectorPage).shown == "answer"


def _inspect(desk, message_id):
    desk.application.services.bridge.answer_explained.emit(make_report(f"{message_id}.1"))
    desk.window.show_answer()


def test_a_report_is_exported_and_the_outcome_told(desk, view, monkeypatch):
    _inspect(desk, _answer(desk))
    bridge, asked = desk.application.services.bridge, []
    monkeypatch.setattr(bridge, "export_trace", lambda *args: asked.append(args))
    view.export.wanted.emit("/t/x.json", TraceFormat.CHROME)
    ((report, path, form),) = asked
    assert (path, form) == ("/t/x.json", TraceFormat.CHROME)
    assert report.is_complete
    bridge.trace_exported.emit(TraceExported("/t/other.json"))
    assert view.export.outcome == ""
    bridge.trace_exported.emit(TraceExported("/t/x.json"))
    assert view.export.outcome == "Saved as /t/x.json."


def test_a_trace_that_could_not_be_written_is_told(desk, view, monkeypatch):
    _inspect(desk, _answer(desk))
    bridge = desk.application.services.bridge
    monkeypatch.setattr(bridge, "export_trace", lambda *_: None)
    view.export.wanted.emit("/t/x.json", TraceFormat.JSON)
    bridge.trace_exported.emit(TraceExported("/t/x.json", "It could not be written."))
    assert view.export.outcome.startswith("The trace could not be written")


def test_an_older_answer_can_be_left_for_the_latest(desk, view, qtbot):
    first = _answer(desk)
    _answer(desk, "More")
    item = next(e.item for e in desk.page.messages.entries if e.row.message_id == first)
    qtbot.mouseClick(item.stats, Qt.MouseButton.LeftButton)
    assert view._latest.isVisible()
    view._latest.click()
    assert not view._latest.isVisible()


def test_without_an_answer_the_view_says_what_it_is_for(desk, view):
    desk.window.show_answer()
    assert view.text.startswith("Ask something")


def test_an_answer_is_compared_with_another_of_its_chat(desk, view):
    first = _answer(desk)
    desk.window.show_answer()
    assert not view.compared.isVisible()  # there is no other
    second = _answer(desk, "And?")
    bridge = desk.application.services.bridge
    bridge.answer_explained.emit(make_report(f"{first}.1"))
    bridge.answer_explained.emit(make_report(f"{second}.1"))
    assert view.compared.isVisible()
    box = view.compared.box
    assert [box.itemData(row) for row in range(box.count())] == [None, first]
    box.setCurrentIndex(1)
    box.activated.emit(1)
    assert "equally fast" in view.compared.text
    assert ["ITL p50", "10.0 ms", "10.0 ms", "+0%"] in view.compared.table.rows
    desk.application.controllers.chat.open(None)
    assert view.compared.box.currentData() is None


def test_other_answers_are_put_in_words_once_however_many_reports_come(desk, view, monkeypatch):
    _answer(desk)
    _answer(desk, "And?")
    third = _answer(desk, "And then?")
    desk.window.show_answer()
    named = []
    words_of = answer._row_of
    monkeypatch.setattr(answer, "_row_of", lambda m: (named.append(m.message_id), words_of(m))[1])
    for _ in range(5):
        desk.application.services.bridge.answer_explained.emit(make_report(f"{third}.1"))
    assert named == []
    assert view.compared.box.count() == 3
    fourth = _answer(desk, "Well?")
    desk.application.services.bridge.answer_explained.emit(make_report(f"{fourth}.1"))
    assert set(named) == {third}
    assert view.compared.box.count() == 4


@pytest.mark.parametrize(
    ("status", "content", "words"),
    [
        (MessageStatus.STREAMING, "", "The answer in the making"),
        (MessageStatus.PARTIAL, " \n", "An answer without words"),
        (MessageStatus.COMPLETE, "Paris.", "\u201cParis.\u201d"),
    ],
)
def test_an_answer_is_told_by_its_first_words(status, content, words):
    message = ChatMessage(1, 1, None, "assistant", content, status)
    assert _words_of(message) == words
