"""Fills the Cache view with what the engine says of its blocks, while the view is on the screen.

Asks at most once a second, and only when something has changed.
"""

from collections.abc import Mapping

from PySide6.QtCore import QObject, Slot

from app.controllers.inspector.kv_quality import KVLoss, KVQuality
from app.controllers.inspector.sources import InspectorSources
from app.controllers.rows import num_context_tokens, num_turns
from engine.api import (
    AnswerReport,
    CacheMapped,
    CacheWay,
    EngineStats,
    KeptBytes,
    KVPrecision,
    ModelInfo,
)
from ui.inspector.cache.picture import CachePicture, Chat, WayUse
from ui.inspector.cache.view import CacheView
from ui.inspector.page import InspectorPage
from ui.widgets.throttle import Throttle

NAME = "cache"
ASK_MS = 1_000  # what is drawn then must not be felt by an answer on two cores
_KEY = "kv"
_SETTINGS = frozenset(KVPrecision)


class CacheInspector(QObject):
    """Asks and shows; a hidden view costs nothing."""

    def __init__(
        self,
        view: CacheView,
        page: InspectorPage,
        sources: InspectorSources,
        quality: KVQuality,
    ) -> None:
        super().__init__(view)
        self._view = view
        self._page = page
        self._sources = sources
        self._quality = quality
        self._pace = Throttle("cache-map", self._ask, ASK_MS, self)
        self._ticket: int | None = None  # of the question that is not answered yet
        self._mapped = CacheMapped(0, ())
        self._gauges: tuple[object, ...] = ()
        chat = sources.sidebar.chat
        page.shown_changed.connect(self._on_shown)
        view.way_chosen.connect(self._on_way_chosen)
        view.reload_requested.connect(sources.model.reload)
        sources.bridge.cache_mapped.connect(self._on_mapped)
        sources.bridge.stats_changed.connect(self._on_stats)
        sources.inspected.reported.connect(self._on_reported)
        sources.model.changed.connect(self._refresh)
        sources.settings.changed.connect(self._show)
        chat.current_changed.connect(self._on_current_changed)
        chat.path_changed.connect(self._refresh)
        quality.changed.connect(self._show)

    @property
    def _is_shown(self) -> bool:
        return self._page.shown == NAME

    # ------------------------------------------------------------------ asking

    @Slot()
    def _refresh(self) -> None:
        if self._is_shown:
            self._pace.call()

    def _ask(self) -> None:
        # an engine that loads a model answers later: one question waits, not many
        if self._is_shown and self._ticket is None:
            self._ticket = self._sources.bridge.map_cache(self._chat().num_tokens)

    @Slot(str)
    def _on_shown(self, name: str) -> None:
        if name == NAME:
            self._quality.refresh()
            self._show()
            self._pace.call()
        else:
            self._pace.cancel()

    @Slot(EngineStats)
    def _on_stats(self, stats: EngineStats) -> None:
        gauges = (stats.kv_live_tokens, stats.kv_by_kind, stats.num_running)
        # gauges also follow each question: these alone are no reason for another
        if gauges != self._gauges:
            self._gauges = gauges
            self._refresh()

    @Slot(AnswerReport)
    def _on_reported(self, _report: AnswerReport) -> None:
        self._refresh()

    @Slot(object)
    def _on_current_changed(self, _conversation_id: int | None) -> None:
        self._refresh()

    @Slot(CacheMapped)
    def _on_mapped(self, mapped: CacheMapped) -> None:
        if mapped.ticket != self._ticket:
            return
        self._ticket = None
        self._mapped = mapped
        self._show()
        if not mapped.is_complete:
            self._refresh()

    # ------------------------------------------------------------------ showing

    @Slot()
    def _show(self) -> None:
        if self._is_shown:
            info = self._sources.model.info
            self._view.set_picture(None if info is None else self._picture(info))

    def _picture(self, info: ModelInfo) -> CachePicture:
        losses = self._quality.of(info)
        return CachePicture(
            groups=self._mapped.groups,
            chat=self._chat(),
            titles=self._titles(),
            kinds=self._kinds(),
            ways=tuple(self._use(way, losses) for way in self._mapped.ways),
            context_length=info.context_length,
            dtype=info.kv_dtype,
            needs_reload=self._sources.settings.waiting is not None,
        )

    def _chat(self) -> Chat:
        chat = self._sources.sidebar.chat.open_chat
        path, report = chat.path, self._sources.inspected.report
        tokens = num_context_tokens(path)
        if report is not None and not report.is_complete:  # it grows
            tokens = max(tokens, report.cache.num_tokens)
        name = "" if chat.conversation_id is None else str(chat.conversation_id)
        is_growing = self._sources.sidebar.chat.is_generating
        return Chat(name, tokens, num_turns(path), is_growing)

    def _titles(self) -> dict[str, str]:
        owners = {o for group in self._mapped.groups for run in group.runs for o in run.owners}
        sidebar = self._sources.sidebar
        return {owner: sidebar.title_of(int(owner)) for owner in owners if owner.isdecimal()}

    def _kinds(self) -> tuple[KeptBytes, ...]:
        report = self._sources.inspected.report
        return () if report is None else report.cache.kinds

    def _use(self, way: CacheWay, losses: Mapping[str, KVLoss]) -> WayUse:
        chosen = self._sources.values.text(_KEY)
        value = way.form.value
        if value not in _SETTINGS:
            return WayUse(way)
        is_in_force = way.is_present and chosen in {value, KVPrecision.AUTO.value}
        is_chosen = chosen == value and not way.is_present
        loss = losses.get(value)
        return WayUse(
            way,
            "" if is_in_force else value,
            is_chosen=is_chosen,
            quality="" if loss is None else loss.words,
        )

    @Slot(str)
    def _on_way_chosen(self, value: str) -> None:
        self._sources.settings.change(_KEY, value)
