"""Reports by name; the figures are checked in test_report."""

from engine.tracing.as_json import report_json
from engine.tracing.report import report
from tests.engine.tracing.test_report import AROUND, INFO, LINE, TRACE, _Costs


def test_stages_are_in_order_and_add_up() -> None:
    result = report_json(report(TRACE, LINE, INFO, _Costs(), AROUND))
    stages = result["stages"]
    assert isinstance(stages, list)
    assert sum(stage["duration_ms"] for stage in stages) == result["total_ms"]
    starts = [stage["start_ms"] for stage in stages]
    assert starts == sorted(starts)
