"""A report of an answer as the engine would make it, with round figures."""

from engine.api import AnswerReport, StallCause
from engine.diagnosis.observation import MachineState
from engine.tracing.recorder import Chunk, Trace
from engine.tracing.report import Circumstances, report
from tests.engine.tracing.test_report import INFO, LINE, TIMES, _Costs
from tests.helpers.observations import MS


def make_report(request_id: str = "1.1", *, is_complete: bool = True) -> AnswerReport:
    """100 prompt tokens (60 cached) in 100 ms, 101 tokens 10 ms apart, one stall of 150 ms."""
    times = (*TIMES[:50], *(at + 140 * MS for at in TIMES[50:]))
    chunk = Chunk(60, 40, LINE.prefill_start_ns, LINE.prefill_end_ns)
    pause = (times[49] + MS, times[50] - MS)
    trace = Trace(request_id, LINE, (chunk,), times, (), (), 0, 0, tuple(range(len(times))))
    around = Circumstances(
        MachineState(2, 2),
        watched={StallCause.COLLECTOR: (pause,)},
        paint_delays_ns=(4 * MS, 9 * MS),
        is_complete=is_complete,
    )
    return report(trace, LINE, INFO, _Costs(), around)
