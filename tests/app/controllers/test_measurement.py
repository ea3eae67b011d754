"""A program is started, heard and stopped; nothing is left running."""

import json
import sys

import psutil
import pytest

from app.controllers.measurement import Measurement

TELLS = """
import sys
for part in (0.25, 0.5, 1.0):
    print('{"progress": %s}' % part, file=sys.stderr, flush=True)
print('{"perplexity": 2.0, "from": %r}' % 1)
"""
FAILS = "import sys; sys.exit('Zu groß für diesen Rechner.')"
WAITS = """
import sys
print('{"progress": 0.5}', file=sys.stderr, flush=True)
sys.stdin.read() or __import__('threading').Event().wait()
"""


@pytest.fixture
def measure():
    made = []

    def make(script):
        measurement = Measurement([sys.executable, "-c", script])
        made.append(measurement)
        return measurement

    yield make
    for measurement in made:
        measurement.close()


def heard(measurement):
    said = []
    measurement.progressed.connect(said.append)
    measurement.measured.connect(lambda result, seconds: said.append((result, seconds)))
    measurement.failed.connect(said.append)
    return said


def test_progress_and_the_result_arrive(measure, qtbot):
    measurement = measure(TELLS)
    said = heard(measurement)
    with qtbot.waitSignal(measurement.measured):
        measurement.start([])
    *parts, (result, seconds) = said
    assert parts[-1] == 1.0
    assert parts == sorted(parts)
    assert result == {"perplexity": 2.0, "from": 1}
    assert seconds > 0
    assert not measurement.is_running


def test_the_programs_own_sentence_is_the_reason(measure, qtbot):
    measurement = measure(FAILS)
    with qtbot.waitSignal(measurement.failed) as failed:
        measurement.start([])
    assert failed.args == ["Zu groß für diesen Rechner."]
    assert not measurement.is_running


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (
            {
                "code": "out_of_memory",
                "message": "x",
                "details": {"needed": 2048, "available": 1024},
            },
            (
                "This needs 2.0 KiB of memory and 1.0 KiB is free. Choose a shorter context, a "
                "smaller precision or a smaller model."
            ),
        ),
        (
            {"code": "invalid_request", "message": "x", "details": {"reason": "too long"}},
            "It cannot be measured with these settings (too long). Nothing was changed.",
        ),
        (
            {"code": "engine_fault", "message": "No numbers."},
            "It could not be measured. The engine says: No numbers.",
        ),
        ({"code": "of a later version", "message": "Its own words."}, "Its own words."),
        ({"code": "out_of_memory", "message": "Without its figures."}, "Without its figures."),
    ],
)
def test_a_known_failure_is_told_in_the_readers_words(measure, qtbot, failure, words):
    line = json.dumps({"failure": failure})
    measurement = measure(
        f"import sys; print({line!r}, file=sys.stderr); sys.exit('Other words.')"
    )
    with qtbot.waitSignal(measurement.failed) as failed:
        measurement.start([])
    assert failed.args == [words]


def test_a_program_without_a_result_has_failed(measure, qtbot):
    measurement = measure("print('words')")
    with qtbot.waitSignal(measurement.failed) as failed:
        measurement.start([])
    assert failed.args == [""]


def test_a_program_that_is_not_there_has_failed(qtbot, tmp_path):
    measurement = Measurement([str(tmp_path / "gone")])
    with qtbot.waitSignal(measurement.failed) as failed:
        measurement.start([])
    assert failed.args[0]
    assert not measurement.is_running


@pytest.mark.parametrize("ending", ["cancel", "close"])
def test_stopping_kills_the_program_and_says_nothing_more(measure, qtbot, ending):
    measurement = measure(WAITS)
    said = heard(measurement)
    with qtbot.waitSignal(measurement.progressed):
        measurement.start([])
    program = psutil.Process(measurement._process.processId())
    getattr(measurement, ending)()
    assert not measurement.is_running
    qtbot.waitUntil(lambda: not program.is_running())
    assert said == [0.5]


def test_it_lets_other_programs_go_first(measure, qtbot):
    measurement = measure(WAITS)
    with qtbot.waitSignal(measurement.progressed):
        measurement.start([])
    program = psutil.Process(measurement._process.processId())
    usual = psutil.Process().nice()
    if sys.platform == "win32":
        assert program.nice() == psutil.BELOW_NORMAL_PRIORITY_CLASS
    else:
        assert program.nice() > usual
    measurement.close()


def test_it_can_be_started_again(measure, qtbot):
    measurement = measure(TELLS)
    for _ in range(2):
        with qtbot.waitSignal(measurement.measured):
            measurement.start([])
