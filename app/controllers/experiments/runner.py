"""Runs the trials of one experiment, one after another, and puts the chat first.

While an answer is written for the user nothing is measured: the trial under way is dropped and
repeated when the answer has ended.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from time import monotonic

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.controllers.experiments.bench import Bench
from app.controllers.experiments.others import Others
from app.controllers.experiments.words import label_words
from app.experiments.catalogue import Experiment
from app.experiments.runs import Run, Setting
from app.experiments.trials import Ask, EngineTrial, ProgramTrial, Reading, Seen, Subject, Trial
from engine.api import ModelInfo
from ui.i18n import tr
from ui.widgets.model_name import model_title

_TICK_MS = 1_000
_NEARLY = 0.9  # of a trial that takes longer than was expected
_TOLD_FROM = 0.05  # of all trials: the first ones tell of the others
logger = logging.getLogger(__name__)


class Activity(StrEnum):
    """What the runner does. HELD: it waits for an answer in the chat to end."""

    IDLE = "idle"
    MEASURING = "measuring"
    HELD = "held"


@dataclass(slots=True)
class _Progress:
    """What is done of all trials by their cost, and how long that took; dropped ones left out."""

    total: float
    done: float = 0.0
    part: float = 0.0
    spent_s: float = 0.0
    began_s: float = 0.0


class Runner(QObject):
    """One experiment at a time.

    ``changed``: it is further; ``program_ended``: what a program printed; ``ended``: this run is
    over.
    """

    changed = Signal()
    program_ended = Signal(ProgramTrial, Seen)
    ended = Signal(Run)

    def __init__(self, bench: Bench, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bench = bench
        self._experiment: Experiment | None = None
        self._subject: Subject | None = None
        self._trials: tuple[Trial, ...] = ()
        self._warm_up: Trial | None = None
        self._number = 0
        self._readings: list[Reading] = []
        self._failures: list[str] = []
        self._progress = _Progress(1.0)
        self._began_at = datetime.now(UTC)
        self._foretold_s: float | None = None
        self._others = Others()
        self._tick = QTimer(self)  # programs are silent for long
        self._tick.setObjectName("experimentTick")
        self._tick.setInterval(_TICK_MS)
        self._tick.timeout.connect(self.changed)
        self.activity = Activity.IDLE
        self.num_repeated = 0
        bench.progressed.connect(self._on_progress)
        bench.seen.connect(self._on_seen)
        bench.failed.connect(self._on_failed)

    # ------------------------------------------------------------------ questions

    @property
    def experiment(self) -> Experiment | None:
        """What runs; None while nothing does."""
        return self._experiment

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What is measured so far, that of a trial under way included where it can be read."""
        experiment, subject = self._experiment, self._subject
        readings = tuple(self._readings)
        if experiment is None or subject is None or not experiment.is_live:
            return readings
        trial = self._present()
        if self.activity is not Activity.MEASURING or trial is None or trial is self._warm_up:
            return readings
        return readings + experiment.read(subject, trial, self._bench.so_far())

    @property
    def place(self) -> tuple[int, int]:
        """The number of the present trial, from 1, and of all; 0 while the model warms up."""
        if self._warm_up is not None:
            return self._number, len(self._trials) - 1
        return self._number + 1, len(self._trials)

    @property
    def part(self) -> float:
        """How much is done, 0 to 1."""
        now, trial = self._progress, self._present()
        if trial is None:
            return 1.0
        part = max(now.part, self._expected_part(trial))
        return min(1.0, (now.done + part * trial.cost) / now.total)

    @property
    def seconds_left(self) -> float | None:
        """By what the trials took so far; before some of them are done, by what was foretold."""
        part, spent = self.part, self._spent_s()
        if part < _TOLD_FROM or spent < 1.0:
            return None if self._foretold_s is None else max(1.0, self._foretold_s - spent)
        return spent * (1 - part) / part

    def _expected_part(self, trial: Trial) -> float:
        """Of a program, which may not tell how far it is: by its time so far, never all of it."""
        now = self._progress
        if self.activity is not Activity.MEASURING or not isinstance(trial, ProgramTrial):
            return 0.0
        each_s = (self._foretold_s or 0.0) / now.total
        if now.done and now.spent_s >= 1.0:  # what was seen tells more than what was foretold
            each_s = now.spent_s / now.done
        passed_s = monotonic() - now.began_s
        return min(_NEARLY, passed_s / (each_s * trial.cost)) if each_s else 0.0

    # ------------------------------------------------------------------ calls

    def start(
        self,
        experiment: Experiment,
        subject: Subject,
        *,
        is_held: bool,
        foretold_s: float | None = None,
    ) -> None:
        """Begin; ``is_held``: the user waits for an answer at present."""
        assert self.activity is Activity.IDLE
        self._foretold_s = foretold_s
        trials = experiment.plan(subject)
        self._warm_up = None
        if any(isinstance(trial, EngineTrial) for trial in trials):
            # the first steps of a model are slow, and tell how many tokens a word has
            self._warm_up = EngineTrial("", 0.0, (Ask(min(64, subject.room - 8), 8),))
            trials = (self._warm_up, *trials)
        self._experiment, self._subject, self._trials = experiment, subject, trials
        self._number, self.num_repeated = 0, 0
        self._readings = list(experiment.known(subject))
        self._failures = []
        self._progress = _Progress(max(1.0, sum(trial.cost for trial in trials)))
        self._others = Others()
        self._began_at = datetime.now(UTC)
        self.activity = Activity.HELD
        self._tick.start()
        if not is_held:
            self._go_on()
        self.changed.emit()

    def hold(self) -> None:
        """An answer was asked for: give way."""
        if self.activity is Activity.MEASURING:
            self._progress.part = 0.0
            self.activity = Activity.HELD
            self.num_repeated += 1
            self._bench.drop()
            self.changed.emit()

    def release(self) -> None:
        """The user waits for nothing any more."""
        if self.activity is Activity.HELD:
            self._go_on()
            self.changed.emit()

    def stop(self) -> None:
        """End early; what was measured stays."""
        if self.activity is not Activity.IDLE:
            self._bench.drop()
            self._finish(is_complete=False)

    def close(self) -> None:
        """Leave nothing running, and say nothing any more."""
        self._tick.stop()
        self.activity = Activity.IDLE
        self._experiment = None
        self._bench.close()

    # ------------------------------------------------------------------ inside

    def _go_on(self) -> None:
        self.activity = Activity.MEASURING
        self._progress.began_s = monotonic()
        self._progress.part = 0.0
        if self._number < len(self._trials):
            self._bench.run(self._trials[self._number])
        else:
            self._finish(is_complete=not self._failures)

    def _present(self) -> Trial | None:
        return self._trials[self._number] if self._number < len(self._trials) else None

    def _spent_s(self) -> float:
        now = self._progress
        is_measuring = self.activity is Activity.MEASURING
        return now.spent_s + (monotonic() - now.began_s if is_measuring else 0.0)

    def _next(self) -> None:
        self._progress.spent_s = self._spent_s()
        self._progress.done += self._trials[self._number].cost
        self._number += 1
        self._go_on()
        if self.activity is not Activity.IDLE:
            self.changed.emit()

    @Slot(float)
    def _on_progress(self, part: float) -> None:
        if self.activity is Activity.MEASURING:
            self._progress.part = part
            self.changed.emit()

    @Slot(Seen)
    def _on_seen(self, seen: Seen) -> None:
        if self.activity is not Activity.MEASURING:
            return
        experiment, subject = self._experiment, self._subject
        trial = self._trials[self._number]
        if experiment is not None and subject is not None and trial is not self._warm_up:
            self._readings += experiment.read(subject, trial, seen)
        if isinstance(trial, ProgramTrial):
            self.program_ended.emit(trial, seen)
        self._next()

    @Slot(str)
    def _on_failed(self, reason: str) -> None:
        if self.activity is not Activity.MEASURING:
            return
        trial = self._trials[self._number]
        logger.info("A trial of %s failed: %s", trial.series, reason)
        if isinstance(trial, EngineTrial):  # the others of the same model would fail, too
            self._failures += [reason] if reason else []
            self._finish(is_complete=False)
            return
        words = reason or tr("The program that measures ended without a word.")
        self._failures.append(f"{label_words(trial.label)}: {words}" if trial.label else words)
        self._next()

    def _finish(self, *, is_complete: bool) -> None:
        experiment, subject = self._experiment, self._subject
        assert experiment is not None
        assert subject is not None
        spent_s = self._spent_s()
        self._tick.stop()
        self.activity = Activity.IDLE
        self._experiment = None
        run = Run(
            run_id=f"{self._began_at:%Y%m%d-%H%M%S-%f}-{experiment.name}",
            experiment=experiment.name,
            depth=subject.depth.value,
            at=self._began_at.isoformat(timespec="seconds"),
            setting=setting_of(subject.info),
            readings=tuple(self._readings),
            is_complete=is_complete,
            failures=_distinct(self._failures),
            other_cores=round(self._others.cores(), 2),
            seconds=round(spent_s, 1),
            cost=self._progress.done,
        )
        self.ended.emit(run)
        self.changed.emit()


def setting_of(info: ModelInfo) -> Setting:
    """What a loaded model and this machine are."""
    return Setting.of(info, model_title(info.path, info.name))


def _distinct(sentences: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))
