"""How long an experiment will take: by its past here, else by the model's size."""

from dataclasses import replace

import pytest

from app.experiments.catalogue import BY_NAME, EXPERIMENTS
from app.experiments.foretell import foretell
from app.experiments.runs import Run, Setting
from app.experiments.trials import Depth, Reading

EXPERIMENT = BY_NAME["prompt"]


@pytest.fixture
def setting(subject):
    return Setting.of(subject.info, "Small")


@pytest.fixture
def run(setting):
    reading = Reading("prompt", 1.0, {"ttft_ms": 1.0})
    at = "2026-01-02T03:04:05+00:00"
    return Run("1", "prompt", "quick", at, setting, (reading,), seconds=30.0, cost=3_000.0)


def _cost(experiment, subject):
    return sum(trial.cost for trial in experiment.plan(subject))


def test_as_long_as_the_last_run_for_as_much(subject, setting, run):
    found = foretell(EXPERIMENT, subject, setting, [run, replace(run, seconds=90.0)])
    assert found.is_measured
    assert found.seconds == pytest.approx(30.0 * _cost(EXPERIMENT, subject) / 3_000.0)


def test_a_run_as_thorough_tells_more_than_a_later_one(subject, setting, run):
    full = replace(run, depth="full", seconds=600.0, cost=20_000.0)
    assert foretell(EXPERIMENT, subject, setting, [full, run]) == foretell(
        EXPERIMENT, subject, setting, [run]
    )
    thorough = replace(subject, depth=Depth.FULL)
    found = foretell(EXPERIMENT, thorough, setting, [run])  # from the quick one, by what it costs
    assert found.seconds == pytest.approx(0.01 * _cost(EXPERIMENT, thorough))


def test_a_run_beside_other_programs_tells_less_than_an_earlier_quiet_one(subject, setting, run):
    crowded = replace(run, seconds=300.0, other_cores=1.7)
    assert foretell(EXPERIMENT, subject, setting, [crowded, run]) == foretell(
        EXPERIMENT, subject, setting, [run]
    )
    assert not foretell(EXPERIMENT, subject, setting, [crowded, run]).is_crowded
    only = foretell(EXPERIMENT, subject, setting, [crowded])
    assert (only.is_measured, only.is_crowded) == (True, True)


@pytest.mark.parametrize(
    "change",
    [
        {"experiment": "answer"},
        {"is_complete": False},
        {"seconds": 0.0},
        {"cost": 0.0},
    ],
)
def test_other_runs_tell_nothing(subject, setting, run, change):
    assert not foretell(EXPERIMENT, subject, setting, [replace(run, **change)]).is_measured


@pytest.mark.parametrize(
    "change", [{"model": "Large"}, {"precision": "int8"}, {"threads": 7}, {"machine": "another"}]
)
def test_runs_of_other_settings_tell_nothing(subject, setting, run, change):
    other = replace(run, setting=replace(setting, **change))
    assert not foretell(EXPERIMENT, subject, setting, [other]).is_measured


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_without_a_past_a_larger_model_takes_longer(experiment, subject, setting):
    small = foretell(experiment, subject, setting, ())
    assert small.seconds > 0
    assert not small.is_measured
    larger = replace(subject, info=replace(subject.info, num_parameters=10**12))
    assert foretell(experiment, larger, setting, ()).seconds > small.seconds
