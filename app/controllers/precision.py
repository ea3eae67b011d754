"""The table of precisions in the settings, and the planner's verdict beside the reload bar.

Puts together what the planner foresees (``outlook``) and what was measured (``loss_meter``);
decides nothing about either.
"""

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.failures import words_for_error
from app.controllers.loss_meter import LossMeter, Wanted
from app.controllers.outlook import OutlookWatch
from app.controllers.precision_rows import name_of, rows_of, selected_of, to_measure
from app.controllers.precision_words import forecast_of
from app.controllers.settings import SettingsController
from app.quality.advice import measuring_s
from ui.i18n import tr
from ui.settings.forecast import Forecast
from ui.settings.panel import SettingsPanel
from ui.settings.precision_lines import MeasuringState
from ui.settings.precision_panel import PrecisionPanel

_GPU_BUDGET = "gpu_budget_mib"


class PrecisionController(QObject):
    """Shows; passes on what the user chooses and wants measured."""

    notice = Signal(str)

    def __init__(
        self,
        page: PrecisionPanel,
        panel: SettingsPanel,
        settings: SettingsController,
        watch: OutlookWatch,
        meter: LossMeter,
    ) -> None:
        super().__init__(page)
        self._page = page
        self._panel = panel
        self._settings = settings
        self._watch = watch
        self._meter = meter
        panel.set_row_shown(_GPU_BUDGET, shown=False)
        page.shown.connect(self._on_shown)
        page.hidden.connect(self._on_hidden)
        page.chosen.connect(self._on_chosen)
        page.measure_requested.connect(self.measure)
        page.cancel_requested.connect(meter.cancel)
        settings.changed.connect(self._on_settings)
        watch.changed.connect(self._show)
        meter.changed.connect(self._show)
        meter.finished.connect(self._on_finished)
        meter.save_failed.connect(self._on_unsaved)

    # ------------------------------------------------------------------ calls

    @property
    def watch(self) -> OutlookWatch:
        """The looks that it shows."""
        return self._watch

    @Slot()
    def measure(self) -> None:
        """Measure what is not known yet of this model; all again where everything is."""
        outlook = self._watch.outlook
        if outlook is not None and outlook.key:
            wanted = Wanted(outlook.options.path, outlook.key, outlook.sheet.num_parameters)
            self._meter.measure(wanted, to_measure(outlook, self._meter.known(outlook.key)))

    def close(self) -> None:
        """Leave nothing running."""
        self._watch.close()
        self._meter.close()

    # ------------------------------------------------------------------ what happens

    @Slot()
    def _on_shown(self) -> None:
        self._meter.read()
        self._watch.set_watched(watched=True)

    @Slot()
    def _on_hidden(self) -> None:
        self._watch.set_watched(watched=False)

    @Slot()
    def _on_settings(self) -> None:
        self._show()
        self._watch.refresh()

    @Slot(str)
    def _on_chosen(self, weights: str) -> None:
        self._settings.change("weights", weights)

    @Slot(str)
    def _on_finished(self, _weights: str) -> None:
        self._watch.refresh()  # calibrated weights that were not there have been made

    @Slot(Exception)
    def _on_unsaved(self, error: Exception) -> None:
        self.notice.emit(words_for_error(error))

    # ------------------------------------------------------------------ showing

    @Slot()
    def _show(self) -> None:
        outlook, problem = self._watch.outlook, self._watch.problem
        self._page.set_note("" if problem is None else words_for_error(problem))
        if outlook is None:
            self._page.set_lines((), "")
        else:
            setting = self._settings.weights
            known = self._meter.known(outlook.key)
            rows = rows_of(outlook, known, setting)
            self._page.set_lines(rows, selected_of(outlook, setting))
            self._panel.set_row_shown(_GPU_BUDGET, shown=outlook.has_gpu)
        self._panel.set_forecast(self._forecast())
        self._page.set_measuring(self._measuring_state())

    def _forecast(self) -> Forecast | None:
        wanted, outlook = self._settings.waiting, self._watch.outlook
        if wanted is None or self._watch.problem is not None:
            return None
        if outlook is None or outlook.options != wanted:
            return Forecast(None, tr("Working out what it needs…"))
        return forecast_of(outlook)

    def _measuring_state(self) -> MeasuringState:
        outlook, now, failure = self._watch.outlook, self._meter.measuring, self._meter.failure
        problem = ""
        if failure is not None:
            problem = tr("{name} could not be measured.", name=name_of(failure.weights))
            # the engine's own sentence, in English
            problem = f"{problem} {failure.reason}".rstrip()
        if now is not None:
            return MeasuringState(
                name=name_of(now.weights),
                number=now.number,
                count=now.count,
                part=now.part,
                problem=problem,
            )
        if outlook is None or not outlook.key:
            return MeasuringState(problem=problem)
        known = self._meter.known(outlook.key)
        todo = to_measure(outlook, known)
        if not todo:
            return MeasuringState(problem=problem)
        others = self._meter.all()
        seconds = sum(measuring_s(name, outlook.sheet, known, others) for name in todo)
        is_again = all(name in known for name in todo)
        return MeasuringState(seconds, is_again, problem=problem)
