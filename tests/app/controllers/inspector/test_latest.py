from app.controllers.inspector.latest import LatestStats
from engine.api import EngineStats


def test_the_latest_gauges_are_kept(desk):
    bridge = desk.application.services.bridge
    latest = LatestStats(bridge)
    assert latest.stats is None
    for at_ns in (1, 2):
        bridge.stats_changed.emit(EngineStats(at_ns, 0, 0, 0, 128, 1, 0, 0, 1, 1, 1, 0, 1))
    assert latest.stats.at_ns == 2
