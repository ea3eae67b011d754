"""Coalescing, ordering and the two threads of the bridge."""

import sys
import threading
from collections import deque
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bridge import EngineBridge, coalesce
from engine.api import (
    CacheMapped,
    CancelInspection,
    EngineStats,
    Finished,
    FinishReason,
    GenerationRequest,
    InspectionProgress,
    InspectTokens,
    LoadProgress,
    LoadStage,
    MapCache,
    Message,
    ModelOptions,
    ModelProfiled,
    PrefillProgress,
    ProfileModel,
    TokensInspected,
    TokensProduced,
)
from tests.helpers.fake_engine import FakeEngines, Script

pytestmark = pytest.mark.usefixtures("qtbot")


STATS = EngineStats(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def token(request_id, text, at=1, first=False):
    return TokensProduced(request_id, text, (1,), (at,), is_first=first)


@pytest.fixture
def engines():
    return FakeEngines()


@pytest.fixture
def bridge(engines):
    bridge = EngineBridge(engines)
    bridge.start()
    yield bridge
    bridge.close(5.0)


def collect(bridge):
    """Every event of the bridge's signals, in the order of emission."""
    seen = []
    for name in (
        "prompt_tokenized",
        "prefill_progressed",
        "tokens_produced",
        "finished",
        "failed",
        "load_progressed",
        "model_ready",
        "tokens_counted",
        "stats_changed",
    ):
        getattr(bridge, name).connect(seen.append)
    return seen


# ---------------------------------------------------------------------- joining


def test_tokens_of_one_request_are_joined():
    joined = coalesce([token("a", "Hel", 1, first=True), token("a", "lo", 2), token("a", "", 3)])
    assert joined == [TokensProduced("a", "Hello", (1, 1, 1), (1, 2, 3), is_first=True)]


def test_tokens_are_joined_across_another_request_but_not_across_an_event_of_their_own():
    end = Finished("a", FinishReason.END_OF_TEXT, None)
    joined = coalesce([token("a", "1"), token("b", "x"), token("a", "2"), end, token("b", "y")])
    assert [type(event).__name__ for event in joined] == [
        "TokensProduced",
        "TokensProduced",
        "Finished",
    ]
    assert joined[0].text == "12"
    assert joined[1].text == "xy"


def test_of_gauges_and_progress_the_last_counts():
    first = LoadProgress("m", LoadStage.WEIGHTS, 1, 9)
    last = LoadProgress("m", LoadStage.WEIGHTS, 5, 9)
    assert coalesce([first, last, STATS, STATS]) == [last, STATS]


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["token", "prefill", "stats"])),
        max_size=60,
    )
)
def test_joining_keeps_the_text_the_times_and_the_order_of_each_request(steps):
    events = []
    for number, (name, kind) in enumerate(steps):
        if kind == "token":
            events.append(token(name, f"{number}.", number))
        elif kind == "prefill":
            events.append(PrefillProgress(name, number, 0, 99))
        else:
            events.append(STATS)
    joined = coalesce(events)
    for name in "abc":
        assert story(joined, name) == story(events, name)
    assert len(joined) <= len(events)


def story(events, name):
    """What one request told, with runs of tokens written as one."""
    told = []
    for event in events:
        if getattr(event, "request_id", None) != name:
            continue
        if isinstance(event, TokensProduced) and told and told[-1][0] == "text":
            told[-1] = ("text", told[-1][1] + event.text, told[-1][2] + event.times_ns)
        elif isinstance(event, TokensProduced):
            told.append(("text", event.text, event.times_ns))
        else:
            told.append(("prefill", event.computed, ()))
    return told


# ---------------------------------------------------------------------- signals


def test_a_request_from_submit_to_its_end(bridge, engines):
    seen = collect(bridge)
    bridge.load(ModelOptions("/models/tide.gguf"))
    bridge.submit(GenerationRequest("r1", sent_ns=0))
    engines.engine.run()
    bridge.drain()
    text = "".join(e.text for e in seen if isinstance(e, TokensProduced))
    assert text == "Hello, world."
    kinds = [type(event).__name__ for event in seen]
    assert kinds.index("ModelReady") < kinds.index("PromptTokenized")
    assert kinds.index("TokensProduced") < kinds.index("Finished")
    assert kinds.count("TokensProduced") == 1


def test_news_of_an_ended_or_unknown_request_is_dropped(bridge, engines):
    seen = collect(bridge)
    bridge.submit(GenerationRequest("r1", sent_ns=0))
    send = engines.engine.on_event
    send(token("r1", "a"))
    send(Finished("r1", FinishReason.CANCELLED, None))
    send(token("r1", "late"))
    send(Finished("r1", FinishReason.CANCELLED, None))
    send(token("ghost", "boo"))
    bridge.drain()
    assert [type(event).__name__ for event in seen] == ["TokensProduced", "Finished"]


def test_cancel_reaches_the_engine_once_and_only_while_the_request_lives(bridge, engines):
    bridge.load(ModelOptions("/models/tide.gguf"))
    bridge.submit(GenerationRequest("r1", sent_ns=0))
    for _ in range(7):
        engines.engine.step()
    bridge.cancel("r1")
    bridge.cancel("nobody")
    seen = collect(bridge)
    engines.engine.run()
    bridge.drain()
    assert seen[-1] == Finished("r1", FinishReason.CANCELLED, None)


def test_events_arrive_by_themselves_from_another_thread(qtbot):
    engines = FakeEngines(Script(pieces=("tide ",) * 200, token_interval_s=0.0005))
    bridge = EngineBridge(engines)
    threads, texts, ends = set(), [], []

    def on_tokens(event):
        threads.add(threading.current_thread())
        texts.append(event.text)

    bridge.tokens_produced.connect(on_tokens)
    bridge.finished.connect(ends.append)
    bridge.start()
    bridge.load(ModelOptions("/models/tide.gguf"))
    bridge.submit(GenerationRequest("r1", sent_ns=0))
    qtbot.waitUntil(lambda: bool(ends), timeout=20_000)
    assert bridge.close(5.0)
    assert threads == {threading.main_thread()}
    assert "".join(texts) == "tide " * 200
    assert len(texts) < 200  # several tokens a frame


def test_while_every_frame_has_news_the_engine_wakes_nobody(qtbot, bridge, engines):
    wakes, seen = [], []
    bridge._woken.connect(lambda: wakes.append(1))
    bridge.tokens_produced.connect(seen.append)
    bridge.submit(GenerationRequest("r1", sent_ns=0))
    for number in range(4):
        engines.engine.on_event(token("r1", f"{number}"))
        qtbot.waitUntil(lambda: len(seen) == number + 1)  # noqa: B023 - waited for here
    assert len(wakes) == 1
    qtbot.waitUntil(lambda: not bridge._frame.isActive())  # a frame without news: it goes to sleep
    engines.engine.on_event(token("r1", "again"))
    qtbot.waitUntil(lambda: len(seen) == 5)
    assert len(wakes) == 2


def test_what_comes_while_the_bridge_falls_asleep_is_not_left(bridge):
    """The engine may append right before it would be told that nobody looks any more."""
    seen = collect(bridge)
    bridge.submit(GenerationRequest("r1", sent_ns=0))
    bridge.drain()

    class Late(deque):
        """Empty at the first look, and then not."""

        is_first = True

        def __bool__(self):
            if self.is_first:
                self.is_first = False
                return False
            return len(self) > 0

    bridge._events = Late([token("r1", "x")])
    bridge.drain()
    assert [event.text for event in seen] == ["x"]
    assert bridge._frame.isActive()


def test_counting_tokens_gives_the_ticket_back(bridge, engines):
    seen = collect(bridge)
    bridge.load(ModelOptions("/models/tide.gguf"))
    engines.engine.run()
    ticket = bridge.count_tokens("three little words")
    engines.engine.run()
    bridge.drain()
    assert (seen[-1].ticket, seen[-1].count) == (ticket, 3)


def test_a_map_of_the_cache_comes_back_with_its_ticket(bridge, engines):
    seen = []
    bridge.cache_mapped.connect(seen.append)
    ticket = bridge.map_cache(90)
    engines.engine.run()
    assert engines.engine.small == [MapCache(ticket, 90)]
    engines.engine.on_event(CacheMapped(ticket, ()))
    bridge.drain()
    assert seen == [CacheMapped(ticket, ())]


def test_a_profile_comes_back_with_its_ticket(bridge, engines):
    seen = []
    bridge.model_profiled.connect(seen.append)
    tickets = [bridge.profile(100, 20), bridge.count_tokens("words"), bridge.profile(5, 6)]
    engines.engine.run()
    assert len(set(tickets)) == 3
    assert engines.engine.small == [
        ProfileModel(tickets[0], 100, 20),
        ProfileModel(tickets[2], 5, 6),
    ]
    engines.engine.on_event(ModelProfiled(tickets[0], None, "No model is loaded."))
    bridge.drain()
    assert seen == [ModelProfiled(tickets[0], None, "No model is loaded.")]


def test_tokens_come_back_with_their_ticket(bridge, engines):
    seen = []
    bridge.inspection_progressed.connect(seen.append)
    bridge.tokens_inspected.connect(seen.append)
    messages = (Message("user", "Hi"),)
    ticket = bridge.inspect_tokens(messages, "Yes", (3,), reasoning="hm")
    bridge.cancel_inspection(ticket)
    engines.engine.run()
    assert engines.engine.small == [
        InspectTokens(ticket, messages, "Yes", (3,), reasoning="hm"),
        CancelInspection(ticket),
    ]
    said = [InspectionProgress(ticket, 1, 2), TokensInspected(ticket, ())]
    for event in said:
        engines.engine.on_event(event)
    bridge.drain()
    assert seen == said


def test_close_delivers_what_the_engine_said_last(engines):
    bridge = EngineBridge(engines)
    bridge.start()
    seen = collect(bridge)
    bridge.load(ModelOptions("/models/tide.gguf"))
    bridge.submit(GenerationRequest("r1", sent_ns=0))
    for _ in range(8):
        engines.engine.step()
    assert bridge.close(5.0)
    assert engines.engine.is_closed
    assert seen[-1] == Finished("r1", FinishReason.CANCELLED, None)


def test_a_thousand_signals_leave_the_references_alone(bridge, engines):
    bridge.submit(GenerationRequest("r1", sent_ns=0))
    before = sys.getrefcount(None), sys.getrefcount(True)
    for number in range(1000):
        engines.engine.on_event(token("r1", "x", number))
        bridge.drain()
    after = sys.getrefcount(None), sys.getrefcount(True)
    assert abs(after[0] - before[0]) < 500
    assert abs(after[1] - before[1]) < 500


def test_joined_tokens_keep_what_was_guessed_and_thought(bridge, engines):
    seen = collect(bridge)
    bridge.submit(GenerationRequest("r1", sent_ns=0))
    one = replace(token("r1", "ab", 1), num_accepted=1, guessed=((0, 1),), reasoning="x")
    two = replace(token("r1", "cd", 2), num_accepted=2, guessed=((1, 2),), num_reasoning=3)
    for event in (one, two):
        engines.engine.on_event(event)
    bridge.drain()
    joined = seen[-1]
    assert (joined.text, joined.reasoning, joined.num_accepted) == ("abcd", "x", 3)
    assert (joined.guessed, joined.num_reasoning) == (((0, 1), (3, 4)), 3)
