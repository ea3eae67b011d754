"""One trial at a time: answers of an engine that plays a script, or a small program."""

import random
import sys

import pytest

from app.bridge import EngineBridge
from app.controllers.experiments.bench import Bench
from app.controllers.measurement import Measurement
from app.experiments.prompts import Prompts
from app.experiments.trials import Ask, EngineTrial, ProgramTrial
from engine.api import EngineStats, ModelOptions, TokensProduced
from tests.helpers.fake_engine import FakeEngines, Script

PROGRAM = (
    "import sys; print('{\"rate\": 5.0}' if sys.argv[1:] == ['ok'] else sys.exit('No room.'))"
)


def stats(running, waiting):
    return EngineStats(0, 0, 0, 0, 8, 1, running, waiting, 0, 0, 0, 0, 1)


class Hands:
    """A bench, its engine, and what it said."""

    def __init__(self, script=None):
        self.engines = FakeEngines(script or Script(pieces=("a ",) * 6))
        self.bridge = EngineBridge(self.engines)
        self.measurement = Measurement([sys.executable, "-c", PROGRAM], self.bridge)
        prompts = Prompts(lambda: ["One two three four five six."], random.Random(0))
        self.bench = Bench(self.bridge, self.measurement, prompts, self.bridge)
        self.seen, self.failed, self.parts = [], [], []
        self.bench.seen.connect(self.seen.append)
        self.bench.failed.connect(self.failed.append)
        self.bench.progressed.connect(self.parts.append)
        self.bridge.load(ModelOptions("/m.gguf"))
        self.play()

    def play(self):
        self.engines.engine.run()
        self.bridge.drain()

    def step(self, times=1):
        for _ in range(times):
            self.engines.engine.step()
        self.bridge.drain()


@pytest.fixture
def hands(qapp):  # noqa: ARG001 - timers and processes need an application
    made = Hands()
    yield made
    made.bench.close()
    made.bridge.close(1.0)


def test_answers_are_asked_for_together_and_seen_together(hands):
    hands.bench.run(EngineTrial("s", 2.0, (Ask(32, 6), Ask(32, 6, kv_cache=False))))
    hands.step()
    assert [r.kv_cache for r in hands.engines.engine.requests] == [True, False]
    assert {r.priority for r in hands.engines.engine.requests} == {-1}
    hands.play()
    (seen,) = hands.seen
    assert [len(answer.times_ns) for answer in seen.answers] == [6, 6]
    assert all(answer.timeline is not None for answer in seen.answers)
    assert hands.parts == sorted(hands.parts)


def test_what_there_is_can_be_read_on_the_way(hands):
    hands.bench.run(EngineTrial("s", 1.0, (Ask(32, 6),)))
    hands.step(6)
    assert 0 < len(hands.bench.so_far().answers[0].times_ns) < 6
    hands.play()
    assert hands.bench.so_far().answers == ()


def test_a_dropped_trial_says_nothing_and_another_can_follow(hands):
    hands.bench.run(EngineTrial("s", 1.0, (Ask(32, 6),)))
    hands.step(4)
    hands.bench.drop()
    hands.play()
    assert (hands.seen, hands.failed) == ([], [])
    hands.bench.run(EngineTrial("s", 1.0, (Ask(32, 6),)))
    hands.play()
    assert len(hands.seen) == 1


def test_it_is_settled_who_has_room_once_all_who_have_it_have_begun(hands):
    hands.bench.run(EngineTrial("s", 1.0, (Ask(32, 6),) * 3, until_admitted=True))
    first, second, _third = list(hands.bench._asked)
    tokens = [TokensProduced(name, "a", (1,), (n,)) for n, name in enumerate((first, second))]
    for event in tokens:
        hands.bridge.tokens_produced.emit(event)
    hands.bridge.stats_changed.emit(stats(running=2, waiting=1))
    assert hands.seen == []  # the next step may still let one in
    for _ in range(4):
        for event in tokens:
            hands.bridge.tokens_produced.emit(event)
    hands.bridge.stats_changed.emit(stats(running=2, waiting=1))
    (seen,) = hands.seen
    assert seen.most_running == 2
    hands.play()
    assert len(hands.seen) == 1


def test_one_that_reads_its_prompt_is_waited_for(hands):
    hands.bench.run(EngineTrial("s", 1.0, (Ask(32, 6),) * 3, until_admitted=True))
    (first, *_others) = list(hands.bench._asked)
    for _ in range(40):
        hands.bridge.tokens_produced.emit(TokensProduced(first, "a", (1,), (1,)))
        hands.bridge.stats_changed.emit(stats(running=2, waiting=1))
    assert hands.seen == []


def test_a_program_shows_what_it_prints(qtbot, hands):
    hands.bench.run(ProgramTrial("s", 0.0, ("ok",)))
    qtbot.waitUntil(lambda: bool(hands.seen), timeout=20_000)
    assert hands.seen[0].printed == {"rate": 5.0}


def test_a_program_that_fails_says_why(qtbot, hands):
    hands.bench.run(ProgramTrial("s", 0.0, ("not",)))
    qtbot.waitUntil(lambda: bool(hands.failed), timeout=20_000)
    assert hands.failed == ["No room."]


def test_a_dropped_program_is_ended(qtbot, hands):
    hands.bench.run(ProgramTrial("s", 0.0, ("ok",)))
    hands.bench.drop()
    assert not hands.measurement.is_running
    qtbot.wait(50)
    assert (hands.seen, hands.failed) == ([], [])
