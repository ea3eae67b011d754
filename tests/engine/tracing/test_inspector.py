"""The inspector's thread: wakes for what matters, reports, ends."""

import threading

from engine.api import (
    EngineStats,
    ExplainAnswer,
    Finished,
    FinishReason,
    ModelOptions,
    NotePaint,
    PromptTokenized,
    TokensProduced,
)
from engine.tracing.inspector import AnswerInspector
from tests.helpers.logfail import LogFail
from tests.helpers.observations import make_timeline

STATS = EngineStats(*(0,) * 13)


class _Watcher:
    """Remembers what it heard; breaks once where it is told to."""

    def __init__(self) -> None:
        self.items = []
        self.looked = threading.Event()
        self.has_open = False
        self.breaks = False

    def hear(self, item) -> None:
        self.items.append(item)
        if self.breaks:
            self.breaks = False
            raise ValueError

    def look(self) -> None:
        self.looked.set()


def _started(watcher: _Watcher) -> AnswerInspector:
    inspector = AnswerInspector(lambda _event: None, lambda _on_event, _collector: watcher)
    inspector.start()
    return inspector


def _wait(watcher: _Watcher) -> None:
    assert watcher.looked.wait(10)
    watcher.looked.clear()


def test_tokens_wait_for_something_that_wakes_it() -> None:
    watcher = _Watcher()
    inspector = _started(watcher)
    tokens = TokensProduced("a", "", (1,), (1,))
    begin, end = PromptTokenized("a", 3), Finished("a", FinishReason.CANCELLED, make_timeline())
    inspector.note_options(ModelOptions("m"))
    inspector.take(STATS)
    inspector.take(tokens)
    assert not inspector._woken.is_set()
    inspector.take(begin)
    inspector.take(end)
    _wait(watcher)
    assert inspector.close(10)
    assert watcher.items[:3] == [ModelOptions("m"), tokens, begin]


def test_commands_wake_it_and_paints_do_not() -> None:
    watcher = _Watcher()
    inspector = _started(watcher)
    inspector.post(NotePaint("a", 1, 2))
    assert not inspector._woken.is_set()
    inspector.post(ExplainAnswer("a"))
    _wait(watcher)
    assert inspector.close(10)
    assert watcher.items == [NotePaint("a", 1, 2), ExplainAnswer("a")]


def test_a_fault_does_not_end_it(logfail: LogFail) -> None:
    logfail.expect("fault in the inspector")
    watcher = _Watcher()
    watcher.breaks = True
    inspector = _started(watcher)
    inspector.post(ExplainAnswer("a"))
    inspector.post(ExplainAnswer("b"))
    _wait(watcher)
    assert inspector.close(10)
    assert ExplainAnswer("b") in watcher.items


def test_one_that_was_never_started_is_closed_at_once() -> None:
    assert AnswerInspector(lambda _event: None).close(0.1)
