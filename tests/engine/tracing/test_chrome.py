"""The file for Chrome and Perfetto, against the format's public description."""

import json
from dataclasses import replace
from itertools import pairwise

from engine.api import Stall, StallCause
from engine.tracing.chrome import chrome_trace
from engine.tracing.recorder import Chunk, Trace
from engine.tracing.report import report
from tests.engine.tracing.test_report import AROUND, INFO, _Costs
from tests.helpers.observations import MS, make_timeline

LINE = make_timeline(queue=10, tokens=4, decode=90)
TIMES = tuple(LINE.first_token_ns + n * 30 * MS for n in range(4))
CHUNKS = (
    Chunk(20, 40, LINE.prefill_start_ns, LINE.prefill_start_ns + 50 * MS),
    Chunk(60, 40, LINE.prefill_start_ns + 50 * MS, LINE.prefill_end_ns),
)
TRACE = Trace("a", LINE, CHUNKS, TIMES, (), (), 0)


def _events(stalls=(), watched=None):
    around = replace(AROUND, watched=watched or {})
    found = replace(report(TRACE, LINE, INFO, _Costs(), around), stalls=tuple(stalls))
    values = chrome_trace(found)
    assert json.loads(json.dumps(values)) == values
    events = values["traceEvents"]
    assert isinstance(events, list)
    return events


def test_every_event_has_what_its_phase_asks_for() -> None:
    stall = Stall(2, TIMES[1], 30 * MS, StallCause.PREFILL)
    pauses = [(TIMES[1], TIMES[1] + MS), (LINE.end_ns + 1, LINE.end_ns + 2)]
    events = _events([stall], {StallCause.COLLECTOR: tuple(pauses)})
    assert {event["ph"] for event in events} == {"X", "M", "C", "i"}
    for event in events:
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        match event["ph"]:
            case "M":
                assert event["name"] in {"process_name", "thread_name"}
                assert isinstance(event["args"]["name"], str)
            case "X":
                assert event["ts"] >= 0
                assert event["dur"] >= 0
            case "C":
                assert event["args"]["tokens"] >= 0
            case _:
                assert event["s"] in {"g", "p", "t"}
    assert sum(event["name"] == "collection" for event in events) == 1


def test_times_are_microseconds_after_send() -> None:
    stages = {e["name"]: e for e in _events() if e["ph"] == "X" and e["tid"] == 1}
    assert (stages["queue"]["ts"], stages["queue"]["dur"]) == (0, 10_000)
    assert stages["prefill"]["dur"] == 100_000
    ends = [event["ts"] + event["dur"] for event in stages.values()]
    assert max(ends) == (LINE.end_ns - LINE.sent_ns) / 1e3


def test_bars_of_one_row_do_not_overlap() -> None:
    events = [event for event in _events() if event["ph"] == "X"]
    for row in {event["tid"] for event in events}:
        bars = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["tid"] == row)
        assert all(end <= start + 1e-6 for (_, end), (start, _) in pairwise(bars))


def test_counts_of_chunks_and_tokens() -> None:
    events = _events()
    chunks = [event["args"] for event in events if event["name"] == "chunk"]
    assert [chunk["computed"] for chunk in chunks] == [40, 40]
    assert sum(event["name"] == "token" for event in events) == 3
    assert [e["args"]["tokens"] for e in events if e["ph"] == "C"] == [100, 101, 102, 103]
