"""The page of experiments: what can be started, how it goes, and which runs are shown."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.answers import Answers
from app.controllers.experiments.runner import Activity, Runner
from app.controllers.experiments.sentences import sentence_of
from app.controllers.experiments.views import VIEWS, Side, differences_of, figures_of
from app.controllers.experiments.words import (
    depth_rows,
    experiment_row,
    names_of,
    run_words,
)
from app.controllers.failures import words_for_error
from app.controllers.loss_meter import LossMeter
from app.controllers.model import ModelController
from app.experiments.catalogue import BY_NAME, EXPERIMENTS
from app.experiments.kept import read_runs, remove_run, write_run
from app.experiments.precision import AGREEMENT, DIVERGENCE, QUALITY
from app.experiments.runs import Run
from app.experiments.spread import series_of, unrest
from app.experiments.trials import Depth, Subject
from app.quality.loss import model_key
from app.tasks import Tasks
from engine.api import ModelInfo
from ui.experiments.page import ExperimentsPage
from ui.experiments.rows import RunRow, RunState, Shown
from ui.i18n import tr, tr_n
from ui.widgets.about_time import about_time
from ui.widgets.throttle import Throttle

_SHOW_MS = 100
_MOST_KEPT = 200
_UNREST = 0.25  # repeats that lie further apart than this are worth a word


class ExperimentsController(QObject):
    """``opened``: the page is wanted. Runs are kept in ``folder``, read when the page opens."""

    notice = Signal(str)
    opened = Signal()

    def __init__(
        self,
        page: ExperimentsPage,
        runner: Runner,
        model: ModelController,
        answers: Answers,
        meter: LossMeter,
    ) -> None:
        super().__init__(page)
        self._page = page
        self._runner = runner
        self._model = model
        self._answers = answers
        self._meter = meter
        self._tasks: Tasks | None = None
        self._folder = Path()
        self._runs: list[Run] = []
        self._was_read = False
        self._name = EXPERIMENTS[0].name
        self._chosen, self._other = "", ""
        self._info: ModelInfo | None = None
        self._show_soon = Throttle("experiments", self._show, _SHOW_MS, self)
        page.chosen.connect(self._on_chosen)
        page.details.run_requested.connect(self.run)
        page.details.stop_requested.connect(runner.stop)
        page.details.past.chosen.connect(self._on_run_chosen)
        page.details.past.compared.connect(self._on_compared)
        page.details.past.removed.connect(self.remove)
        page.details.export.told.connect(self.notice)
        runner.changed.connect(self._show_soon.call)
        runner.ended.connect(self._on_ended)
        model.changed.connect(self._on_model)
        answers.generating_changed.connect(self._on_generating)
        page.set_experiments(
            [experiment_row(experiment.name) for experiment in EXPERIMENTS], depth_rows()
        )

    def keep_in(self, folder: Path, tasks: Tasks) -> None:
        """Where runs are kept, and who reads and writes them."""
        self._folder, self._tasks = folder, tasks

    # ------------------------------------------------------------------ calls

    @Slot()
    def refresh(self) -> None:
        """The page was opened: read what was measured before, once."""
        if not self._was_read and self._tasks is not None:
            self._was_read = True
            self._meter.read()
            self._tasks.run(partial(read_runs, self._folder), self._on_read)
        self._show()

    @Slot()
    def open_cache(self) -> None:
        """Open the page with the experiment about the KV cache."""
        self._page.choose("cache")
        self.opened.emit()

    @Slot(str)
    def run(self, depth: str) -> None:
        """Measure the chosen experiment on the loaded model."""
        info = self._model.info
        if info is None or self._reason():
            return
        losses = {
            weights: {AGREEMENT: loss.top1_agreement, DIVERGENCE: loss.mean_kl}
            for weights, loss in self._meter.known(model_key(info.path)).items()
            if loss.top1_agreement is not None and loss.mean_kl is not None
        }
        self._info = info
        self._chosen, self._other = "", ""
        subject = Subject(info, Depth(depth), losses)
        is_held = bool(self._answers.generating())
        self._runner.start(BY_NAME[self._name], subject, is_held=is_held)
        self._show()

    @Slot(str)
    def remove(self, run_id: str) -> None:
        """Delete a kept run."""
        self._runs = [run for run in self._runs if run.run_id != run_id]
        self._chosen, self._other = self._latest(), ""
        self._in_background(partial(remove_run, self._folder, run_id))
        self._show()

    def close(self) -> None:
        """Leave nothing running."""
        self._show_soon.cancel()
        self._runner.close()

    # ------------------------------------------------------------------ what happens

    def _on_read(self, runs: list[Run]) -> None:
        known = {run.run_id for run in self._runs}
        self._runs += [run for run in runs if run.run_id not in known]
        self._chosen = self._chosen or self._latest()
        self._show()

    @Slot(str)
    def _on_chosen(self, name: str) -> None:
        self._name = name
        self._chosen, self._other = self._latest(), ""
        self._show()

    @Slot(str)
    def _on_run_chosen(self, run_id: str) -> None:
        self._chosen = run_id
        if self._other == run_id:
            self._other = ""
        self._show()

    @Slot(str)
    def _on_compared(self, run_id: str) -> None:
        self._other = run_id
        self._show()

    @Slot(Run)
    def _on_ended(self, run: Run) -> None:
        if run.readings:
            self._runs = [run, *self._runs][:_MOST_KEPT]
            self._in_background(partial(write_run, self._folder, run))
            if run.experiment == self._name:
                self._chosen, self._other = run.run_id, ""
        elif run.failures:
            self.notice.emit(" ".join(run.failures))
        self._show()

    @Slot()
    def _on_model(self) -> None:
        if self._runner.activity is not Activity.IDLE and self._model.info is not self._info:
            self._runner.stop()
            self.notice.emit(tr("The model changed, so the experiment ended early."))
        self._show_soon.call()

    @Slot()
    def _on_generating(self) -> None:
        if self._answers.generating():
            self._runner.hold()
        else:
            self._runner.release()
        self._show_soon.call()

    def _in_background(self, work: Callable[[], None]) -> None:
        if self._tasks is not None:
            self._tasks.run(work, on_error=self._on_unsaved)

    def _on_unsaved(self, error: Exception) -> None:
        self.notice.emit(words_for_error(error))

    # ------------------------------------------------------------------ showing

    def _latest(self) -> str:
        return next((r.run_id for r in self._runs if r.experiment == self._name), "")

    def _run(self, run_id: str) -> Run | None:
        return next((run for run in self._runs if run.run_id == run_id), None)

    def _reason(self) -> str:
        if self._model.is_loading:
            return tr("The model is being loaded.")
        if self._model.info is None:
            return tr("Load a model first.")
        if self._meter.measuring is not None:
            return tr("What the precisions lose is being measured; wait for the end of that.")
        return ""

    def _show(self) -> None:
        runner, past = self._runner, self._page.details.past
        running = runner.experiment
        self._page.show_state(
            RunState(
                reason=self._reason(),
                running="" if running is None else running.name,
                part=runner.part if running is not None else 0.0,
                words="" if running is None else self._progress_words(),
            )
        )
        rows = [RunRow(r.run_id, run_words(r)) for r in self._runs if r.experiment == self._name]
        past.show_runs(rows, self._chosen, self._other)
        self._page.details.show_result(self._result())

    def _progress_words(self) -> str:
        runner = self._runner
        if runner.activity is Activity.HELD:
            return tr("The chat goes first. The point under way will be measured again.")
        number, count = runner.place
        words = (
            tr("{number} of {count}", number=number, count=count) if number else tr("Warming up")
        )
        if (left := runner.seconds_left) is not None:
            words += " · " + tr("{time} left", time=about_time(left))
        if runner.num_repeated:
            words += " · " + tr_n(
                "{n} point was measured again, because the chat went first",
                "{n} points were measured again, because the chat went first",
                runner.num_repeated,
            )
        return words

    def _result(self) -> Shown:
        running = self._runner.experiment
        if running is not None and running.name == self._name and not self._chosen:
            readings = self._runner.readings
            return Shown(self._name, figures_of(self._name, [Side(readings)]))
        first, other = self._run(self._chosen), self._run(self._other)
        if first is None:
            return Shown()
        if other is not None:
            return self._comparison(first, other)
        sentence = sentence_of(self._name, first.readings)
        shown = Shown(first.run_id, figures_of(self._name, [Side(first.readings)]), sentence)
        return replace(shown, notes=self._notes(first))

    def _comparison(self, first: Run, other: Run) -> Shown:
        names = names_of(first, other)
        sides = [Side(run.readings, name) for run, name in zip((first, other), names, strict=True)]
        sentences = [
            f"{side.name}: {words}"
            for side in sides
            if (words := sentence_of(self._name, side.readings))
        ]
        return Shown(
            f"{first.run_id}-{other.run_id}",
            figures_of(self._name, sides),
            "\n".join(sentences),
            differences=differences_of(self._name, first, other),
        )

    @staticmethod
    def _notes(run: Run) -> str:
        notes = [run_words(run)]
        if not run.is_complete:
            notes.append(tr("Not all of it was measured."))
        if unrest(run.readings, VIEWS[run.experiment][0].metric) > _UNREST:
            notes.append(
                tr("Repeats lie far apart: other programs kept this machine busy. Measure again.")
            )
        is_about_quality = run.experiment in {"weights", "kv"}
        if is_about_quality and QUALITY not in series_of(run.readings):
            notes.append(tr("What each loses is measured by a thorough run."))
        return "\n".join([*notes, *run.failures])
