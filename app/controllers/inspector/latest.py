"""The engine's latest gauges, for whoever begins to look when they have been told already."""

from PySide6.QtCore import QObject, Slot

from app.bridge import EngineBridge
from engine.api import EngineStats


class LatestStats(QObject):
    """``stats``: None before any were told."""

    def __init__(self, bridge: EngineBridge) -> None:
        super().__init__(bridge)
        self.stats: EngineStats | None = None
        bridge.stats_changed.connect(self._on_stats)

    @Slot(EngineStats)
    def _on_stats(self, stats: EngineStats) -> None:
        self.stats = stats
