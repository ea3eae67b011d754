"""Trials one after another, over a bench whose every word a test decides."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QObject, Signal

from app.controllers.experiments.runner import Activity, Runner
from app.experiments.catalogue import Experiment
from app.experiments.trials import (
    Ask,
    EngineTrial,
    ProgramTrial,
    Reading,
    Seen,
    Subject,
)
from engine.api import ModelOptions
from tests.helpers.fake_engine import model_info

SUBJECT = Subject(model_info(ModelOptions("/m/Small-1B.gguf")))


class ScriptedBench(QObject):
    progressed = Signal(float)
    seen = Signal(Seen)
    failed = Signal(str)

    def __init__(self):
        super().__init__()
        self.trials = []
        self.num_dropped = 0

    def run(self, trial):
        self.trials.append(trial)

    def drop(self):
        self.num_dropped += 1

    def so_far(self):
        return Seen(most_running=1)

    def close(self):
        pass


def experiment(*trials, is_live=False):
    def read(_subject, trial, seen):
        return (Reading(trial.series, trial.x, {"m": float(seen.most_running)}),)

    return Experiment("cache", lambda _s: trials, read, lambda _r: {}, is_live=is_live)


ANSWER = EngineTrial("a", 1.0, (Ask(100, 10),))
PROGRAM = ProgramTrial("p", 2.0, ("bench",), "int4")


@pytest.fixture
def bench(qapp):  # noqa: ARG001 - signals need an application
    return ScriptedBench()


@pytest.fixture
def runner(bench):
    runner = Runner(bench, bench)
    runner.runs = []
    runner.ended.connect(runner.runs.append)
    return runner


def test_the_model_warms_up_before_its_own_trials(runner, bench):
    runner.start(experiment(ANSWER, PROGRAM), SUBJECT, is_held=False)
    assert runner.place == (0, 2)
    bench.seen.emit(Seen())
    assert runner.place == (1, 2)
    bench.seen.emit(Seen(most_running=3))
    bench.seen.emit(Seen(most_running=4))
    (run,) = runner.runs
    assert [r.values["m"] for r in run.readings] == [3.0, 4.0]
    assert run.is_complete
    assert run.setting.model == "Small 1B"
    assert runner.activity is Activity.IDLE


def test_programs_alone_need_no_warm_up(runner, bench):
    runner.start(experiment(PROGRAM), SUBJECT, is_held=False)
    assert bench.trials == [PROGRAM]


def test_a_held_trial_is_dropped_and_repeated(runner, bench):
    runner.start(experiment(PROGRAM), SUBJECT, is_held=False)
    bench.progressed.emit(0.5)
    assert runner.part == 0.5
    runner.hold()
    assert (runner.activity, bench.num_dropped, runner.part) == (Activity.HELD, 1, 0.0)
    runner.hold()
    assert runner.num_repeated == 1
    bench.seen.emit(Seen())  # too late
    runner.release()
    assert bench.trials == [PROGRAM, PROGRAM]
    bench.seen.emit(Seen(most_running=1))
    assert len(runner.runs[0].readings) == 1


def test_one_that_begins_beside_an_answer_waits(runner, bench):
    runner.start(experiment(PROGRAM), SUBJECT, is_held=True)
    assert (runner.activity, bench.trials) == (Activity.HELD, [])
    runner.release()
    assert bench.trials == [PROGRAM]
    assert runner.num_repeated == 0


def test_a_program_that_fails_leaves_the_others(runner, bench):
    runner.start(experiment(PROGRAM, replace(PROGRAM, label="int8")), SUBJECT, is_held=False)
    bench.failed.emit("No room.")
    bench.seen.emit(Seen(most_running=1))
    (run,) = runner.runs
    assert run.failures == ("INT4: No room.",)
    assert not run.is_complete
    assert len(run.readings) == 1


def test_a_program_that_dies_is_told_of(runner, bench):
    runner.start(experiment(PROGRAM), SUBJECT, is_held=False)
    bench.failed.emit("")
    assert runner.runs[0].failures == ("INT4: The program that measures ended without a word.",)


def test_an_answer_that_fails_ends_it(runner, bench):
    runner.start(experiment(ANSWER, ANSWER), SUBJECT, is_held=False)
    bench.seen.emit(Seen())
    bench.failed.emit("The cache is full.")
    (run,) = runner.runs
    assert run.failures == ("The cache is full.",)
    assert run.readings == ()


def test_a_stop_keeps_what_there_is(runner, bench):
    runner.start(experiment(PROGRAM, PROGRAM), SUBJECT, is_held=False)
    bench.seen.emit(Seen(most_running=1))
    assert runner.part == 0.5
    runner.stop()
    (run,) = runner.runs
    assert len(run.readings) == 1
    assert not run.is_complete
    runner.stop()
    assert len(runner.runs) == 1


def test_what_can_be_read_on_the_way_is(runner):
    runner.start(experiment(PROGRAM, is_live=True), SUBJECT, is_held=False)
    assert len(runner.readings) == 1
    runner.hold()
    assert runner.readings == ()


def test_known_readings_are_there_from_the_beginning(runner):
    known = Reading("k", 0.0, {"m": 1.0})
    runner.start(replace(experiment(PROGRAM), known=lambda _s: (known,)), SUBJECT, is_held=False)
    assert runner.readings == (known,)


def test_nothing_to_measure_is_a_result_at_once(runner):
    runner.start(experiment(), SUBJECT, is_held=False)
    assert len(runner.runs) == 1
    assert runner.activity is Activity.IDLE


def test_the_time_left_is_unknown_at_first(runner):
    runner.start(experiment(PROGRAM, PROGRAM), SUBJECT, is_held=False)
    assert runner.seconds_left is None


def test_after_the_end_it_says_nothing(runner, bench):
    runner.start(experiment(PROGRAM), SUBJECT, is_held=False)
    runner.close()
    bench.seen.emit(Seen())
    assert runner.runs == []


class Clock:
    """Seconds that a test lets pass."""

    def __init__(self, monkeypatch):
        self.now_s = 100.0
        monkeypatch.setattr("app.controllers.experiments.runner.monotonic", lambda: self.now_s)


def test_a_silent_program_goes_on_as_was_foretold(runner, bench, monkeypatch):
    clock = Clock(monkeypatch)
    runner.start(experiment(PROGRAM, PROGRAM), SUBJECT, is_held=False, foretold_s=60.0)
    assert runner.seconds_left == 60.0
    clock.now_s += 15
    assert runner.part == pytest.approx(0.25)
    assert runner.seconds_left == pytest.approx(45)
    clock.now_s += 600  # it takes longer, and is not done
    assert runner.part == pytest.approx(0.45)
    clock.now_s -= 595
    bench.seen.emit(Seen())  # the first took 20 s: the second will, too
    clock.now_s += 5
    assert runner.part == pytest.approx(0.5 + 0.5 * 5 / 20)


def test_what_a_program_says_counts_for_more_where_it_is_further(runner, bench, monkeypatch):
    clock = Clock(monkeypatch)
    runner.start(experiment(PROGRAM, PROGRAM), SUBJECT, is_held=False, foretold_s=60.0)
    clock.now_s += 3
    bench.progressed.emit(0.4)
    assert runner.part == pytest.approx(0.2)


def test_while_programs_are_silent_the_time_is_told_each_second(runner, qtbot):
    assert not runner._tick.isActive()
    runner.start(experiment(PROGRAM), SUBJECT, is_held=False)
    assert runner._tick.isActive()
    with qtbot.waitSignal(runner.changed):
        runner._tick.timeout.emit()
    runner.stop()
    assert not runner._tick.isActive()
