"""The page of experiments with what measures for it, made when it is first wanted.

Its controller ends with the window, before the engine does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.bridge import EngineBridge
from app.controllers.answers import Answers
from app.controllers.loss_meter import LossMeter
from app.controllers.measurement import Measurement
from app.controllers.model import ModelController
from app.late.parts import LateParts, Steps, imports
from app.tasks import Tasks
from ui.main_window import MainWindow
from ui.theme import ThemeSource
from ui.widgets.late_page import LatePage

if TYPE_CHECKING:
    from ui.experiments.page import ExperimentsPage

EXPERIMENTS = "experiments"


@dataclass(frozen=True, slots=True)
class ExperimentSources:
    """What experiments are made on. ``kept``: the folder of runs, ``passages``: that of texts."""

    bridge: EngineBridge
    model: ModelController
    answers: Answers
    meter: LossMeter
    make_measurement: Callable[[QObject], Measurement]
    passages: Path
    kept: Path
    tasks: Tasks


class LateExperiments(QObject):
    """Opens the page with the experiment that is wanted, once it is there."""

    notice = Signal(str)

    def __init__(
        self,
        place: LatePage,
        window: MainWindow,
        themes: ThemeSource,
        sources: ExperimentSources,
        parts: LateParts,
    ) -> None:
        super().__init__(place)
        self._place = place
        self._window = window
        self._themes = themes
        self._sources = sources
        self._parts = parts
        self._page: ExperimentsPage | None = None

    def steps(self) -> Steps:
        """Make page and controllers."""
        yield from imports(
            "app.experiments.trials",
            "statistics",
            "app.experiments.runs",
            "app.experiments.catalogue",
            "ui.charts.figures",
            "ui.experiments.rows",
            "app.controllers.experiments.words",
            "ui.charts.tables",
            "ui.charts.lines",
            "ui.experiments.figures",
            "ui.experiments.details",
        )
        from app.experiments.prompts import Prompts  # noqa: PLC0415 - most starts do not need it

        yield
        from app.controllers.experiments import bench, runner  # noqa: PLC0415 - as above

        yield
        from ui.experiments.page import ExperimentsPage  # noqa: PLC0415 - as above

        yield
        from app.controllers.experiments import controller  # noqa: PLC0415 - as above

        yield
        page = ExperimentsPage(self._themes, self._place)
        page.closed.connect(self._place.closed)
        yield
        sources = self._sources
        measurement = sources.make_measurement(page)
        made = bench.Bench(sources.bridge, measurement, Prompts.of(sources.passages), page)
        experiments = controller.ExperimentsController(
            page, runner.Runner(made, page), sources.model, sources.answers, sources.meter
        )
        experiments.keep_in(sources.kept, sources.tasks)
        experiments.notice.connect(self.notice)
        self._window.experiments_opened.connect(experiments.refresh)
        self._window.closing.connect(experiments.close)
        self._page = page
        self._place.put(page, page.focus_first)
        if self._place.isVisible():
            experiments.refresh()

    @property
    def kept(self) -> Path:
        """The folder of runs."""
        return self._sources.kept

    @Slot()
    def open_cache(self) -> None:
        """Open the page with the experiment about what the KV cache is for."""
        self._open("cache")

    @Slot()
    def open_losses(self) -> None:
        """Open the page with the experiment about what ways of keeping the cache lose."""
        self._open("kv")

    def _open(self, name: str) -> None:
        self._parts.after(EXPERIMENTS, partial(self._choose, name))
        self._window.show_experiments()  # which gives the keyboard to what is chosen

    def _choose(self, name: str) -> None:
        if self._page is not None:
            self._page.choose(name)
            if self._place.isVisible():
                self._page.focus_first()
