"""The meters follow the open conversation's latest answer."""

from dataclasses import replace

import pytest

from engine.api import Finished, FinishReason
from tests.helpers.fake_engine import Script
from tests.helpers.sample_engine import STATS
from ui.meters.live import LiveMeters


class Recorder:
    """Notes the calls to the meters and passes them on."""

    def __init__(self, meters, monkeypatch):
        self.calls = []
        for name in (
            "set_model",
            "start_answer",
            "set_pending",
            "set_ttft",
            "set_first_token",
            "set_timeline",
            "add_token_times",
            "set_stats",
            "set_counted",
            "set_chat_tokens",
        ):
            monkeypatch.setattr(meters, name, self._noting(name, getattr(meters, name)))

    def _noting(self, name, call):
        def noted(*arguments, **named):
            self.calls.append((name, *arguments, *named.values()))
            call(*arguments, **named)

        return noted

    def of(self, name):
        return [call[1:] for call in self.calls if call[0] == name]


@pytest.fixture
def desk(make_desk):
    return make_desk(Script(prefill_chunks=3, num_prompt_tokens=300)).begin()


@pytest.fixture
def meters(desk, monkeypatch):
    return Recorder(desk.window.findChild(LiveMeters), monkeypatch)


def test_an_answer_from_start_to_end(desk, meters):
    desk.send("Hi")
    assert meters.of("start_answer")
    meters.calls.clear()
    desk.play()
    times = [at for (batch,) in meters.of("add_token_times") for at in batch]
    assert len(times) == 4
    (timeline,) = meters.of("set_timeline")[-1]
    assert timeline == desk.rows[1].stats.timeline
    assert timeline.first_token_ns == times[0]
    assert timeline.last_token_ns == times[-1]
    assert meters.of("set_chat_tokens")[-1] == (304, 1)
    assert meters.of("set_stats")


def test_a_long_prompt_tells_how_far_it_is(desk, meters):
    desk.send("Hi")
    desk.step(2)
    desk.step(1)
    assert "100 of 300" in meters.of("set_pending")[0][0]


def test_the_first_paint_is_the_time_to_first_token(desk, meters):
    desk.send("Hi")
    desk.step(6)
    sent_ns = desk.engine.requests[0].sent_ns
    desk.page.first_painted.emit(desk.rows[1].message_id, sent_ns + 42)
    assert meters.of("set_ttft") == [(42,)]


def test_another_conversations_tokens_are_not_shown(desk, meters):
    desk.send("Hi")
    desk.step(3)
    desk.chat.open(None)
    meters.calls.clear()
    desk.play()
    assert meters.of("add_token_times") == []
    assert meters.of("set_timeline") == []


def test_opening_a_conversation_shows_its_last_answer(desk, meters):
    desk.send("Hi")
    desk.play()
    first = desk.chat.open_chat.conversation_id
    desk.chat.open(None)
    assert meters.of("set_timeline")[-1] == (None,)
    assert meters.of("set_chat_tokens")[-1] == (0, 0)
    desk.chat.open(first)
    assert meters.of("set_timeline")[-1][0].num_prompt_tokens == 300


def _say(desk, *events):
    for event in events:
        desk.engine.on_event(event)
    desk.application.services.bridge.drain()


def test_gauges_go_with_the_chats_that_were_written_for_when_they_were_read(desk, meters):
    desk.send("Hi")
    desk.step(2)
    _say(desk, STATS)
    assert meters.of("set_counted")[-1] == (1, True)
    meters.calls.clear()
    # the engine's last words of the answer, and only then gauges without it
    (request,) = desk.engine.requests
    _say(desk, Finished(request.request_id, FinishReason.END_OF_TEXT, None))
    assert meters.of("set_timeline")
    assert meters.of("set_counted") == []
    _say(desk, replace(STATS, num_running=0))
    assert meters.of("set_counted") == [(0, False)]


def test_another_chat_has_no_part_in_what_was_counted(desk, meters):
    desk.send("Hi")
    desk.step(2)
    _say(desk, STATS)
    first = desk.chat.open_chat.conversation_id
    desk.chat.open(None)
    assert meters.of("set_counted")[-1] == (1, False)
    desk.chat.open(first)
    assert meters.of("set_counted")[-1] == (1, True)


def test_the_model_is_told(desk, meters):
    desk.window.unload_model_requested.emit()
    desk.play()
    assert meters.of("set_model")[-1] == (None,)


def test_what_led_to_the_first_token_is_told_with_it(desk, meters):
    desk.send("Hi")
    desk.step(6)
    ((timeline,),) = meters.of("set_first_token")
    assert timeline.num_prompt_tokens == 300
    assert timeline.first_paint_ns is None
    desk.page.first_painted.emit(desk.rows[1].message_id, timeline.first_token_ns + 7)
    conversation = desk.chat.open_chat.conversation_id
    desk.chat.open(None)
    meters.calls.clear()
    desk.chat.open(conversation)
    ((again,),) = meters.of("set_first_token")
    assert again.paint_ns == 7
