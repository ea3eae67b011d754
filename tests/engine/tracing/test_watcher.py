"""What the inspector knows of answers, by events made by hand."""

import json
from dataclasses import replace

import pytest

from engine.api import (
    AnswerExplained,
    ExplainAnswer,
    ExportTrace,
    Finished,
    FinishReason,
    ModelOptions,
    ModelReady,
    NotePaint,
    PromptTokenized,
    TokensProduced,
    TraceExported,
    TraceFormat,
)
from engine.tracing import watcher as module
from engine.tracing.pauses import CollectorWatch
from engine.tracing.watcher import LIVE_NS, AnswerWatcher
from tests.engine.tracing.test_report import INFO, LINE, TIMES, _Costs
from tests.helpers.observations import MS

IDS = tuple(range(101))
PRODUCED = TokensProduced("a", "", IDS, TIMES, is_first=True, timeline=LINE)
END = Finished("a", FinishReason.END_OF_TEXT, LINE)


class _Clock:
    now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def heard():
    return []


@pytest.fixture
def clock():
    return _Clock()


@pytest.fixture
def watcher(heard, clock) -> AnswerWatcher:
    made = AnswerWatcher(heard.append, CollectorWatch(), clock, lambda _info: _Costs())
    made.hear(ModelOptions("m", max_streams=3))
    made.hear(ModelReady(INFO))
    return made


def _reports(heard):
    return [event.report for event in heard if isinstance(event, AnswerExplained)]


def test_an_ended_answer_is_reported_with_its_tokens(watcher, heard) -> None:
    for event in (PromptTokenized("a", 100), PRODUCED, END):
        watcher.hear(event)
    (found,) = _reports(heard)
    assert found.is_complete
    assert found.token_ids == IDS
    assert found.diagnosis.kind == "decode_bound"
    assert not watcher.has_open


def test_one_under_way_is_reported_now_and_then(watcher, heard, clock) -> None:
    watcher.hear(PromptTokenized("a", 100))
    watcher.look()
    clock.now_ns = LIVE_NS
    watcher.look()
    assert heard == []  # no token yet
    watcher.hear(PRODUCED)
    clock.now_ns = 2 * LIVE_NS
    watcher.look()
    watcher.look()
    (found,) = _reports(heard)
    assert not found.is_complete
    assert watcher.has_open


def test_paints_are_part_of_it_and_it_can_be_asked_for_again(watcher, heard) -> None:
    for event in (PromptTokenized("a", 100), PRODUCED, END):
        watcher.hear(event)
    first = LINE.first_token_ns
    watcher.hear(NotePaint("a", first, first + 4 * MS))
    watcher.hear(NotePaint("a", TIMES[9], TIMES[9] + 6 * MS))
    watcher.hear(NotePaint("unknown", 1, 2))
    watcher.hear(ExplainAnswer("a"))
    watcher.hear(ExplainAnswer("unknown"))
    found = _reports(heard)[-1]
    assert found.timeline.paint_ns == 4 * MS
    assert (found.paint.p50_ns, found.paint.max_ns) == (4 * MS, 6 * MS)


def test_without_a_model_nothing_is_reported(heard) -> None:
    made = AnswerWatcher(heard.append, CollectorWatch(), _Clock(), lambda _info: _Costs())
    for event in (PromptTokenized("a", 100), PRODUCED, END):
        made.hear(event)
    made.look()
    assert heard == []


def test_only_the_latest_answers_are_kept(watcher, monkeypatch) -> None:
    monkeypatch.setattr(module, "KEPT", 2)
    for name in "abcd":
        watcher.hear(PromptTokenized(name, 100))
        watcher.hear(replace(PRODUCED, request_id=name))
        watcher.hear(replace(END, request_id=name))
    assert watcher.report("a") is None
    assert watcher.report("d") is not None


@pytest.mark.parametrize("form", list(TraceFormat))
def test_a_report_is_written(watcher, heard, tmp_path, form) -> None:
    for event in (PromptTokenized("a", 100), PRODUCED, END):
        watcher.hear(event)
    (found,) = _reports(heard)
    path = tmp_path / "trace.json"
    watcher.hear(ExportTrace(found, str(path), form))
    assert heard[-1] == TraceExported(str(path))
    key = "traceEvents" if form is TraceFormat.CHROME else "stages"
    assert json.loads(path.read_text("utf-8"))[key]
    watcher.hear(ExportTrace(found, str(tmp_path), form))
    assert heard[-1].problem.endswith("choose another file.")


def test_ceilings_that_are_measured_later_count(watcher, monkeypatch, tmp_path) -> None:
    made = []
    watcher._costs_of = lambda info: made.append(info) or _Costs()
    kept = tmp_path / "roofline.json"
    monkeypatch.setattr(module, "path_for", lambda _threads: kept)
    for event in (PromptTokenized("a", 100), PRODUCED, END):
        watcher.hear(event)
    watcher.report("a")
    assert len(made) == 1
    kept.write_text("{}")
    watcher.report("a")
    assert len(made) == 2
