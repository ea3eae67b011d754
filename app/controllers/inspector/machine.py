"""Fills the Machine view, while it is on the screen, and sets the budgets chosen there."""

from functools import partial
from time import time

from PySide6.QtCore import QObject, Slot

from app.controllers.inspector.sources import InspectorSources
from app.controllers.library_services import LibraryServices
from app.controllers.machine_rates import MachineRates
from engine.api import (
    AnswerReport,
    CacheGroup,
    CacheMapped,
    Device,
    EngineStats,
    MachineCeilings,
    ModelInfo,
)
from ui.i18n import tr
from ui.inspector.machine.budget import MIB
from ui.inspector.machine.capacity import capacity_words
from ui.inspector.machine.picture import MachinePicture
from ui.inspector.machine.view import MachineView
from ui.inspector.page import InspectorPage
from ui.widgets.throttle import Throttle

NAME = "machine"
SHOW_MS = 500
_KV_BUDGET, _GPU_BUDGET = "kv_budget_mib", "gpu_budget_mib"


class MachineInspector(QObject):
    """Shows twice a second at most; a hidden view costs nothing."""

    def __init__(
        self,
        view: MachineView,
        page: InspectorPage,
        sources: InspectorSources,
        rates: MachineRates,
        library: LibraryServices,
    ) -> None:
        super().__init__(view)
        self._view = view
        self._page = page
        self._sources = sources
        self._rates = rates
        self._inspector, self._tasks = library.inspector, library.catalog
        self._pace = Throttle("machine-view", self._show, SHOW_MS, self)
        self._stats = sources.latest.stats
        self._ceilings: MachineCeilings | None = None
        self._groups: tuple[CacheGroup, ...] = ()
        self._ticket: int | None = None
        page.shown_changed.connect(self._on_shown)
        view.measure_requested.connect(self._on_measure)
        view.reload_requested.connect(sources.model.reload)
        view.kv_budget.changed.connect(self._on_number)
        view.kv_budget.applied.connect(self._on_kv_budget)
        view.gpu_budget.applied.connect(self._on_gpu_budget)
        rates.changed.connect(self._on_rates)
        sources.bridge.stats_changed.connect(self._on_stats)
        sources.bridge.cache_mapped.connect(self._on_mapped)
        sources.model.changed.connect(self._on_model_changed)
        sources.settings.changed.connect(self._refresh)
        sources.inspected.changed.connect(self._refresh)
        sources.inspected.reported.connect(self._on_reported)

    @property
    def _is_shown(self) -> bool:
        return self._page.shown == NAME

    # ------------------------------------------------------------------ what happens

    @Slot()
    def _refresh(self) -> None:
        if self._is_shown:
            self._pace.call()

    @Slot(str)
    def _on_shown(self, name: str) -> None:
        if name == NAME:
            self._look()
            self._pace.call()
        else:
            self._pace.cancel()

    @Slot(EngineStats)
    def _on_stats(self, stats: EngineStats) -> None:
        self._stats = stats
        self._refresh()

    @Slot(AnswerReport)
    def _on_reported(self, _report: AnswerReport) -> None:
        self._refresh()

    @Slot()
    def _on_model_changed(self) -> None:
        self._groups = ()
        if self._is_shown:
            self._look()
            self._pace.call()

    @Slot()
    def _on_measure(self) -> None:
        info = self._sources.model.info
        self._rates.measure(None if info is None else info.threads)

    @Slot()
    def _on_rates(self) -> None:
        report = self._sources.inspected.report
        if report is not None and not self._rates.is_measuring:
            self._sources.bridge.explain(report.request_id)  # by the new ceilings
        if self._is_shown:
            self._look()
            self._pace.call()

    @Slot(CacheMapped)
    def _on_mapped(self, mapped: CacheMapped) -> None:
        if mapped.ticket == self._ticket:
            self._groups = mapped.groups
            self._refresh()

    # ------------------------------------------------------------------ looking

    def _look(self) -> None:
        """Ask what is not told by itself: the ceilings on disk, and the kinds of layers."""
        info = self._sources.model.info
        threads = 0 if info is None else info.threads
        is_cuda = info is not None and info.device is Device.CUDA
        if threads:
            ask = partial(self._inspector.ceilings, threads, is_cuda=is_cuda)
            self._tasks.run(ask, self._on_ceilings, self._on_no_ceilings)
            self._ticket = self._sources.bridge.map_cache()

    def _on_ceilings(self, ceilings: MachineCeilings | None) -> None:
        self._ceilings = ceilings
        self._refresh()

    def _on_no_ceilings(self, _error: Exception) -> None:
        self._on_ceilings(None)

    def _show(self) -> None:
        if not self._is_shown:
            return
        sources, ceilings = self._sources, self._ceilings
        info = sources.model.info
        picture = MachinePicture(
            stats=self._stats,
            info=info,
            report=sources.inspected.report,
            ceilings=ceilings,
            age_s=0.0 if ceilings is None else max(0.0, time() - ceilings.measured_at),
            is_measuring=self._rates.is_measuring,
            problem=self._problem(),
            needs_reload=sources.settings.waiting is not None,
        )
        self._view.set_picture(picture)
        if info is not None:
            self._show_budgets(info)

    def _problem(self) -> str:
        if (reason := self._rates.problem) is None:
            return ""
        # a program may end without a word
        return f"{tr('This machine could not be measured.')} {reason}".rstrip()

    # ------------------------------------------------------------------ budgets

    def _show_budgets(self, info: ModelInfo) -> None:
        values, view = self._sources.values, self._view
        view.kv_budget.set_budget(values.whole(_KV_BUDGET), info.kv_budget_bytes)
        self._on_number(view.kv_budget.box.value())
        if self._stats is not None and self._stats.gpu is not None:
            now = self._stats.weights_bytes + self._stats.kv_allocated_bytes
            view.gpu_budget.set_budget(values.whole(_GPU_BUDGET), now)

    @Slot(int)
    def _on_number(self, mib: int) -> None:
        info = self._sources.model.info
        asked = self._sources.values.whole("context_length")
        words = "" if info is None else capacity_words(self._groups, info, mib * MIB, asked)
        self._view.kv_budget.set_gives(words)

    @Slot(object)
    def _on_kv_budget(self, mib: int | None) -> None:
        self._sources.settings.change(_KV_BUDGET, mib)
        self._refresh()

    @Slot(object)
    def _on_gpu_budget(self, mib: int | None) -> None:
        self._sources.settings.change(_GPU_BUDGET, mib)
        self._refresh()
