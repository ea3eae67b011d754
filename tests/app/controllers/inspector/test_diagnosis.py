"""From a report to a card, and from a click to a setting, a reload and a measured gain."""

from dataclasses import replace

import pytest

from engine.api import Diagnosis, DiagnosisKind, Evidence, Remedy, Sentence
from tests.helpers.fake_engine import Script
from tests.helpers.observations import MS
from tests.helpers.reports import make_report
from ui.inspector.answer.view import AnswerView
from ui.meters.live import LiveMeters

PIECES = tuple(f"w{n} " for n in range(20))
REMEDIES = (
    Remedy("kv", "int8", 1.2, 200 * MS),
    Remedy("draft", "off", 1.1, 100 * MS),
    Remedy("power", None, 1.05, 50 * MS),
)
DECODE = Diagnosis(
    DiagnosisKind.DECODE_BOUND,
    Sentence.READING,
    {"share": 0.8},
    Evidence("reading_share", 0.8, "share"),
    REMEDIES,
    0.9,
)


@pytest.fixture
def desk(make_desk):
    desk = make_desk(Script(pieces=PIECES)).begin()
    desk.window.resize(1360, 860)
    desk.window.show()
    return desk


@pytest.fixture
def live(desk):
    return desk.window.findChild(LiveMeters).diagnosis


@pytest.fixture
def chosen(desk):
    return desk.window.findChild(AnswerView).diagnosis


def _answer(desk, text="Hi"):
    desk.send(text)
    desk.play()
    return desk.rows[-1].message_id


def _explain(desk, message_id, diagnosis=DECODE, *, is_complete=True):
    report = make_report(f"{message_id}.1", is_complete=is_complete)
    report = replace(report, diagnosis=diagnosis)
    desk.application.services.bridge.answer_explained.emit(report)
    return report


def _setting(desk, key):
    return desk.application.services.settings[key]


def test_the_live_card_waits_then_follows_then_stays(desk, live):
    assert live.state.is_empty
    desk.send("Hi")
    desk.step(3)
    assert live.state.title == "Diagnosis"
    message_id = desk.rows[-1].message_id
    _explain(desk, message_id, is_complete=False)
    assert live.state.title == "Decode-bound (so far)"
    desk.play()
    _explain(desk, message_id)
    assert live.state.title == "Decode-bound"
    assert [line.can_try for line in live.state.remedies] == [True, True, False]


def test_a_continued_answer_is_not_told_by_its_first_part(desk, live):
    message_id = _answer(desk)
    _explain(desk, message_id)
    desk.page.continue_requested.emit(message_id)
    desk.step(2)
    assert live.state.title == "Diagnosis"


def test_each_card_has_its_own_answer(desk, live, chosen):
    first = _answer(desk)
    _explain(desk, first)
    second = _answer(desk, "More")
    _explain(desk, second, Diagnosis(DiagnosisKind.UNSURE, Sentence.SEVERAL, {}))
    desk.page.inspect_requested.emit(first)
    assert live.state.title == "Unsure"
    assert chosen.state.title == "Decode-bound"
    desk.page.inspect_requested.emit(second)
    assert chosen.state.title == "Unsure"
    _explain(desk, second)
    assert live.state.title == chosen.state.title == "Decode-bound"


def test_the_live_card_leads_to_where_the_time_went(desk, live, chosen):
    first = _answer(desk)
    second = _answer(desk, "More")
    _explain(desk, second)
    desk.page.inspect_requested.emit(first)
    live.details_requested.emit()
    assert chosen.isVisible()
    assert chosen.state.title == "Decode-bound"


def test_one_click_sets_and_reloads_and_the_next_answer_is_measured(desk, live):
    first = _answer(desk)
    report = _explain(desk, first)
    num_loads = len(desk.engine.loads)
    live.try_requested.emit(0)
    assert _setting(desk, "kv") == "int8"
    assert live.state.outcome == "Set: INT8 KV cache. The model loads again\u2026"
    assert not live.state.remedies[0].can_try
    desk.play()
    assert len(desk.engine.loads) == num_loads + 1
    assert desk.engine.loads[-1].kv == "int8"
    assert live.state.outcome.endswith("The next answer in this chat is measured.")
    second = _answer(desk, "More")
    _explain(desk, second)
    measured = desk.stored()[-1].timeline.decode_tokens_per_s
    gain = measured / report.timeline.decode_tokens_per_s
    words = f"measured {gain:.2f}." if gain < 9.995 else f"measured {gain:,.0f}."
    assert live.state.outcome.startswith(
        "INT8 KV cache. Decode: predicted ~1.25 times as fast, measured"
    )
    assert live.state.outcome.endswith(words)
    assert live.state.can_undo


def test_undo_puts_the_setting_back(desk, live):
    _explain(desk, _answer(desk))
    live.try_requested.emit(0)
    desk.play()
    live.undo_requested.emit()
    assert _setting(desk, "kv") == "auto"
    assert live.state.outcome == ""
    assert live.state.remedies[0].can_try
    desk.play()
    assert desk.engine.loads[-1].kv == "auto"


def test_a_reload_waits_for_the_answer_in_the_making(desk, live):
    _explain(desk, _answer(desk))
    desk.send("More")
    desk.step(4)
    message_id = desk.rows[-1].message_id
    _explain(desk, message_id, is_complete=False)
    num_loads = len(desk.engine.loads)
    live.try_requested.emit(0)
    assert live.state.outcome == "Set: INT8 KV cache. The model loads again after this answer."
    desk.step()
    assert len(desk.engine.loads) == num_loads
    desk.play()  # to the answer's end
    desk.play()
    assert len(desk.engine.loads) == num_loads + 1
    assert desk.rows[-1].text == "".join(PIECES)


def test_an_answer_of_another_chat_measures_nothing(desk, live):
    first = _answer(desk)
    _explain(desk, first)
    live.try_requested.emit(0)
    desk.play()
    desk.application.controllers.chat.open(None)
    _explain(desk, _answer(desk, "Elsewhere"))
    assert live.state.outcome == ""


def test_a_setting_that_was_changed_since_is_neither_measured_nor_undone(desk, live):
    first = _answer(desk)
    _explain(desk, first)
    live.try_requested.emit(0)
    desk.play()
    desk.application.controllers.settings.change("kv", "int4")
    _explain(desk, first)
    assert not live.state.can_undo
    _explain(desk, _answer(desk, "More"))
    assert live.state.outcome == ""


def test_what_no_setting_does_is_said_and_does_nothing(desk, live):
    _explain(desk, _answer(desk))
    before = dict(desk.application.services.settings.values())
    live.try_requested.emit(2)
    live.try_requested.emit(7)
    assert dict(desk.application.services.settings.values()) == before
    assert live.state.outcome == ""


def test_a_setting_for_the_next_answer_needs_no_reload(desk, live):
    keep = replace(DECODE, remedies=(Remedy("keep_cache", True, 1.5, 10 * MS),))
    _explain(desk, _answer(desk), keep)
    num_loads = len(desk.engine.loads)
    live.try_requested.emit(0)
    desk.play()
    assert _setting(desk, "keep_cache") is True
    assert len(desk.engine.loads) == num_loads
