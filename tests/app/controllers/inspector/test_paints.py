"""Paints are told to the engine, and the report is asked for when they are over."""

import pytest

from tests.helpers.fake_engine import Script


@pytest.fixture
def desk(make_desk):
    return make_desk(Script()).begin()


@pytest.fixture
def told(desk, monkeypatch):
    bridge, calls = desk.application.services.bridge, []
    monkeypatch.setattr(bridge, "note_paint", lambda *args: calls.append(args))
    monkeypatch.setattr(bridge, "explain", lambda *args: calls.append(args))
    return calls


def test_a_paint_is_told_under_the_request_of_its_answer(desk, told):
    desk.send("Hi")
    desk.step(2)
    message_id = desk.rows[-1].message_id
    desk.page.text_painted.emit(message_id, 5, 9)
    desk.page.text_painted.emit(999, 5, 9)
    assert told == [(desk.engine.requests[-1].request_id, 5, 9)]


def test_an_ended_answer_is_explained_once_its_paints_are_over(desk, told):
    desk.send("Hi")
    desk.play()
    desk.wait(lambda: bool(told))
    assert told == [(desk.engine.requests[-1].request_id,)]


def test_tokens_reach_the_page_with_their_time(desk):
    desk.window.show()
    noted = []
    desk.page.text_painted.connect(lambda *args: noted.append(args))
    desk.send("Hi")
    desk.play()
    desk.wait(lambda: bool(noted))
    _message_id, chosen_ns, painted_ns = noted[-1]
    assert 0 < chosen_ns <= painted_ns
