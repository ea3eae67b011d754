"""About how long an experiment will take: by what it took here before, else by the model's size.

Costs are in prompt tokens read, as trials state them. Pure functions.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from app.experiments.catalogue import Experiment
from app.experiments.runs import Run, Setting
from app.experiments.trials import ProgramTrial, Subject, Trial

# until something was measured here: what laptops do in large products, and a program's start
_GUESSED_FLOPS_PER_S = 2e11
_PER_PARAMETER = 2  # a multiplication and an addition a token
_START_S = 5.0
_BUSY_CORES = 0.3  # of other programs, as where a run is told to be measured again
_LOADED_BYTES_PER_S = 2e8


@dataclass(frozen=True, slots=True)
class Foretold:
    """Seconds, and whether a run of the same on this machine says so.

    ``is_crowded``: that run had the machine together with other programs.
    """

    seconds: float
    is_measured: bool
    is_crowded: bool = False


def foretell(
    experiment: Experiment, subject: Subject, setting: Setting, runs: Iterable[Run]
) -> Foretold:
    """Before it begins. ``runs``: this machine's past, the latest first.

    A run as thorough tells more than another, and one on a quiet machine more than a later one.
    """
    trials = experiment.plan(subject)
    cost = sum(trial.cost for trial in trials)
    past = [run for run in runs if _is_alike(run, experiment.name, setting)]
    past.sort(key=lambda run: (run.depth != subject.depth.value, run.other_cores >= _BUSY_CORES))
    if past:
        best = past[0]
        is_crowded = best.other_cores >= _BUSY_CORES
        return Foretold(best.seconds * cost / best.cost, is_measured=True, is_crowded=is_crowded)
    return Foretold(sum(_guessed_s(trial, subject) for trial in trials), is_measured=False)


def _is_alike(run: Run, name: str, setting: Setting) -> bool:
    known = run.setting
    mine = (setting.machine, setting.model, setting.precision, setting.threads)
    theirs = (known.machine, known.model, known.precision, known.threads)
    is_timed = run.is_complete and run.seconds > 0 and run.cost > 0
    return run.experiment == name and is_timed and mine == theirs


def _guessed_s(trial: Trial, subject: Subject) -> float:
    info = subject.info
    computing = trial.cost * _PER_PARAMETER * info.num_parameters / _GUESSED_FLOPS_PER_S
    if isinstance(trial, ProgramTrial):
        return _START_S + info.file_bytes / _LOADED_BYTES_PER_S + computing
    return computing
