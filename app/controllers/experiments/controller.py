"""The page of experiments: what can be started, how it goes, and which runs are shown."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.answers import Answers
from app.controllers.experiments.results import shown_pair, shown_run
from app.controllers.experiments.runner import Activity, Runner, setting_of
from app.controllers.experiments.views import Side, figures_of
from app.controllers.experiments.words import SEPARATOR, depth_rows, experiment_row, run_words
from app.controllers.failures import words_for_error
from app.controllers.loss_meter import LossMeter
from app.controllers.model import ModelController
from app.experiments.catalogue import BY_NAME, EXPERIMENTS
from app.experiments.foretell import Foretold, foretell
from app.experiments.kept import read_runs, remove_run, write_run
from app.experiments.precision import AGREEMENT, DIVERGENCE, QUALITY, WEIGHTS
from app.experiments.runs import Run
from app.experiments.trials import Depth, ProgramTrial, Seen, Subject
from app.quality.loss import loss_of, model_key
from app.tasks import Tasks
from engine.api import ModelInfo
from ui.experiments.page import ExperimentsPage
from ui.experiments.rows import RunRow, RunState, Shown
from ui.i18n import tr, tr_n
from ui.widgets.about_time import about_time
from ui.widgets.throttle import Throttle

_SHOW_MS = 100
_MOST_KEPT = 200


class ExperimentsController(QObject):
    """Runs are kept in a folder, and read when the page opens."""

    notice = Signal(str)

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
        self._removed: Run | None = None
        self._info: ModelInfo | None = None
        self._keyed: tuple[ModelInfo, str] | None = None
        self._show_soon = Throttle("experiments", self._show_progress, _SHOW_MS, self)
        page.chosen.connect(self._on_chosen)
        page.details.run_requested.connect(self.run)
        page.details.stop_requested.connect(runner.stop)
        page.details.past.chosen.connect(self._on_run_chosen)
        page.details.past.compared.connect(self._on_compared)
        page.details.past.removed.connect(self.remove)
        page.details.past.restored.connect(self.restore)
        page.details.export.told.connect(self.notice)
        runner.changed.connect(self._show_soon.call)
        runner.ended.connect(self._on_ended)
        runner.program_ended.connect(self._on_program)
        model.changed.connect(self._on_model)
        answers.generating_changed.connect(self._on_others)
        meter.changed.connect(self._on_others)
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

    @Slot(str)
    def run(self, depth: str) -> None:
        """Measure the chosen experiment on the loaded model."""
        info = self._model.info
        if info is None or self._reason() or self._runner.activity is not Activity.IDLE:
            return
        self._info = info
        self._chosen, self._other = "", ""
        subject, foretold = self._subject(info, Depth(depth)), self._foretold(info)
        self._runner.start(
            BY_NAME[self._name],
            subject,
            is_held=self._must_wait(),
            foretold_s=foretold[subject.depth].seconds,
        )
        self._show()

    def _subject(self, info: ModelInfo, depth: Depth) -> Subject:
        losses = {
            weights: {AGREEMENT: loss.top1_agreement, DIVERGENCE: loss.mean_kl}
            for weights, loss in self._meter.known(self._key_of(info)).items()
            if loss.top1_agreement is not None and loss.mean_kl is not None
        }
        return Subject(info, depth, losses)

    def _key_of(self, info: ModelInfo) -> str:
        """What stands for the loaded model; the disk is asked once a load, not at each look."""
        if self._keyed is None or self._keyed[0] is not info:
            self._keyed = info, model_key(info.path)
        return self._keyed[1]

    def _foretold(self, info: ModelInfo) -> dict[Depth, Foretold]:
        """How long the chosen experiment would take."""
        experiment = BY_NAME[self._name]
        setting = setting_of(info)
        return {
            depth: foretell(experiment, self._subject(info, depth), setting, self._runs)
            for depth in Depth
        }

    @Slot(str)
    def remove(self, run_id: str) -> None:
        """Delete a kept run."""
        self._removed = self._run(run_id)
        self._runs = [run for run in self._runs if run.run_id != run_id]
        self._chosen, self._other = self._latest(), ""
        self._in_background(partial(remove_run, self._folder, run_id))
        self._show()

    @Slot()
    def restore(self) -> None:
        """Bring the run back that was deleted last."""
        if (run := self._removed) is not None:
            self._removed = None
            self._runs = sorted([*self._runs, run], key=_run_id, reverse=True)
            self._in_background(partial(write_run, self._folder, run))
            self._chosen, self._other = run.run_id, ""
            self._show()

    def close(self) -> None:
        """Leave nothing running."""
        self._show_soon.cancel()
        self._runner.close()

    # ------------------------------------------------------------------ what happens

    def _on_read(self, runs: list[Run]) -> None:
        known = {run.run_id for run in self._runs}
        self._runs += [run for run in runs if run.run_id not in known]
        running = self._runner.experiment
        if running is None or running.name != self._name:
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

    @Slot(ProgramTrial, Seen)
    def _on_program(self, trial: ProgramTrial, seen: Seen) -> None:
        """What a precision loses is worth keeping for the settings, too."""
        if trial.series == QUALITY and trial.label in WEIGHTS and self._info is not None:
            if self._runner.experiment is not BY_NAME["weights"]:
                return
            loss = loss_of(dict(seen.printed), seen.seconds, self._info.num_parameters)
            if loss is not None:
                self._meter.keep(model_key(self._info.path), trial.label, loss)

    @Slot()
    def _on_model(self) -> None:
        is_other = self._model.is_loading or self._model.info is not self._info
        if is_other and self._runner.activity is not Activity.IDLE:
            self._runner.stop()
            self.notice.emit(tr("The model changed, so the experiment ended early."))
        self._show_soon.call()

    @Slot()
    def _on_others(self) -> None:
        if self._must_wait():
            self._runner.hold()
        else:
            self._runner.release()
        self._show_soon.call()

    def _must_wait(self) -> bool:
        """Whether the user waits for something else: a measurement would be disturbed."""
        return self._answers.are_awaited or self._meter.measuring is not None

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
        return ""

    def _show(self) -> None:
        """All of it; what goes on alone is shown by ``_show_progress``, many times a second."""
        rows = [RunRow(r.run_id, run_words(r)) for r in self._runs if r.experiment == self._name]
        past, removed = self._page.details.past, self._removed
        past.show_runs(rows, self._chosen, self._other)
        past.offer_undo(is_offered=removed is not None and removed.experiment == self._name)
        first, other = self._run(self._chosen), self._run(self._other)
        if first is None:
            self._page.details.show_result(Shown(notes=tr("Not measured on this machine yet.")))
        elif other is None:
            self._page.details.show_result(shown_run(first))
        else:
            self._page.details.show_result(shown_pair(first, other))
        self._show_progress()

    def _show_progress(self) -> None:
        runner, running = self._runner, self._runner.experiment
        if running is None:
            info = self._model.info
            self._page.set_depths(depth_rows(None if info is None else self._foretold(info)))
            self._page.show_state(RunState(self._reason()))
            return
        words = self._progress_words()
        if running.name != self._name:
            title = experiment_row(running.name).title
            words = tr("“{title}” is being measured: {progress}", title=title, progress=words)
        self._page.show_state(RunState(self._reason(), running.name, runner.part, words))
        if running.name == self._name and not self._chosen:
            figures = figures_of(self._name, [Side(runner.readings)])
            self._page.details.show_result(Shown(self._name, figures))

    def _progress_words(self) -> str:
        runner = self._runner
        if runner.activity is Activity.HELD:
            if self._answers.generating():
                return tr("The chat goes first. The point under way will be measured again.")
            if self._answers.are_awaited:
                return tr("Another program is served. The point under way will be measured again.")
            return tr("Waits until the precisions are measured.")
        number, count = runner.place
        words = (
            tr("{number} of {count}", number=number, count=count) if number else tr("Warming up")
        )
        if (left := runner.seconds_left) is not None:
            words += SEPARATOR + tr("{time} left", time=about_time(left))
        if runner.num_repeated:
            words += SEPARATOR + tr_n(
                "{n} point was measured again, because the chat went first",
                "{n} points were measured again, because the chat went first",
                runner.num_repeated,
            )
        return words


def _run_id(run: Run) -> str:
    return run.run_id
