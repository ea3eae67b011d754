"""A trace as plain values, with figures done by hand."""

import json
from dataclasses import replace
from typing import Any

import pytest

from engine.api import (
    Diagnosis,
    DiagnosisKind,
    Evidence,
    KeptBytes,
    MachineUse,
    Remedy,
    Sentence,
    StallCause,
)
from engine.diagnosis.observation import MachineState, PrefillCost, StepCost
from engine.tracing.as_json import diagnosis_json, report_json
from engine.tracing.costs import ModelCosts
from engine.tracing.recorder import Chunk, Trace
from engine.tracing.report import Circumstances, observe, report
from tests.engine.cli.test_plan import CEILINGS
from tests.helpers.fake_model import make_info
from tests.helpers.observations import MS, make_timeline
from tests.helpers.scheduling import make_config

INFO = replace(make_info("fake.gguf", make_config(), 100), kv_bytes_per_token=8, kv_block_size=16)
LINE = make_timeline(prefill=100, decode=1_000, tokens=101, prompt=100, cached=60)
TIMES = tuple(LINE.first_token_ns + n * 10 * MS for n in range(101))
CHUNK = Chunk(60, 40, LINE.prefill_start_ns, LINE.prefill_end_ns)
TRACE = Trace("a", LINE, (CHUNK,), TIMES, (), (), 3)
AROUND = Circumstances(MachineState(2, 2), max_streams=4, num_known_before=7)


class _Costs(ModelCosts):
    """8 of 10 ms are read at 10 GB/s; 4 GFLOP of a prompt at 100 GFLOP/s."""

    def __init__(self) -> None:
        self.ceilings = CEILINGS
        self.contexts: list[int] = []
        self._info = INFO

    def step(self, context: int) -> StepCost:
        self.contexts.append(context)
        return StepCost(70_000_000, 10_000_000, 1e10, 1e10)

    def prefill(self, prompt: int, cached: int) -> PrefillCost:
        return PrefillCost((prompt - cached) * 10**8, 1e11)

    def other_weights(self, _context: int) -> dict[str, StepCost]:
        return {"int4": StepCost(30_000_000, 10_000_000, 1e10, 1e10)}

    def other_kv(self, _context: int) -> dict[str, StepCost]:
        return {}

    def more_threads(self, _context: int) -> dict[int, StepCost]:
        return {4: StepCost(70_000_000, 10_000_000, 1.02e10, 1.02e10)}

    def offload(self, _context: int, _free: int, *, is_capped: bool) -> None:
        del is_capped

    def token_flops(self, _context: int) -> int:
        return 160_000_000

    def kept(self, tokens: int) -> list[KeptBytes]:
        return [KeptBytes("window", 2, tokens, 5), KeptBytes("full", 1, 2 * tokens, 9)]

    def held(self, tokens: int) -> int:
        return 3 * tokens + 16


def _report() -> dict[str, Any]:
    result = report_json(report(TRACE, LINE, INFO, _Costs(), AROUND))
    assert json.loads(json.dumps(result)) == result
    return result


def test_roofline() -> None:
    roofline = _report()["roofline"]
    decode, prefill = roofline["decode"], roofline["prefill"]
    assert decode["share"] == pytest.approx(0.8)
    assert decode["bytes_per_s"] == pytest.approx(8e9)
    assert decode["ceiling_bytes_per_s"] == pytest.approx(1e10)
    assert decode["arithmetic_intensity"] == pytest.approx(2)
    assert prefill["share"] == pytest.approx(0.4)
    assert prefill["flops_per_s"] == pytest.approx(4e10)
    assert prefill["bytes"] == 70_000_000 + 40 * 8
    assert prefill["arithmetic_intensity"] == pytest.approx(4e9 / 70_000_320)


def test_tokens_chunks_and_cache() -> None:
    result = _report()
    assert (result["prompt_tokens"], result["cached_tokens"], result["computed_tokens"]) == (
        100,
        60,
        40,
    )
    (chunk,) = result["prefill_chunks"]
    assert (chunk["computed"], chunk["cached"], chunk["duration_ms"]) == (40, 60, 100)
    kv = result["kv"]
    assert (kv["tokens"], kv["bytes"], kv["allocated_bytes"]) == (200, 600, 616)
    assert (kv["shared_tokens"], kv["shared_bytes"]) == (60, 480)
    assert kv["kinds"] == [
        {"kind": "window", "layers": 2, "bytes": 200, "read_bytes": 5},
        {"kind": "full", "layers": 1, "bytes": 400, "read_bytes": 9},
    ]


def test_host_and_gaps() -> None:
    result = _report()
    assert result["host"]["decode_forward_ms"] == pytest.approx(950)
    assert result["host"]["decode_outside_ms"] == pytest.approx(50)
    assert result["itl_ms"]["values"] == [10.0] * 100
    assert (result["itl_ms"]["p50"], result["itl_ms"]["stalls"]) == (10, [])


def test_the_diagnosis_follows_from_the_observation() -> None:
    found = _report()["diagnosis"]
    assert found["class"] == "decode_bound"
    (remedy,) = found["remedies"]
    assert (remedy["key"], remedy["value"]) == ("weights", "int4")
    assert remedy["saved_ms"] == pytest.approx(500)
    costs = _Costs()
    seen = observe(TRACE, LINE, INFO, costs, AROUND)
    assert costs.contexts == [150]
    assert (seen.num_ahead, seen.max_streams, seen.num_known_before) == (3, 4, 7)


def test_without_ceilings_there_is_no_roofline() -> None:
    result = report_json(report(TRACE, LINE, INFO, ModelCosts(INFO, None), AROUND))
    assert result["roofline"] is None
    assert result["diagnosis"]["class"] == "unsure"


def test_a_diagnosis_by_name() -> None:
    found = Diagnosis(
        DiagnosisKind.THROTTLED,
        Sentence.THROTTLED,
        {"now": 800.4, "most": 3_000},
        Evidence("frequency", 800.4, "mhz"),
        (Remedy("power", None, 2.0, 3 * MS),),
        0.75,
    )
    assert diagnosis_json(found) == {
        "class": "throttled",
        "sentence": "The processor runs at 800 of its 3000 MHz.",
        "evidence": {"name": "frequency", "value": 800.4, "unit": "mhz"},
        "remedies": [{"key": "power", "value": None, "gain": 2.0, "saved_ms": 3.0}],
        "confidence": 0.75,
        "candidates": [],
    }


def test_spans_and_paints_count_from_send_and_only_while_it_was_made() -> None:
    line = replace(LINE, first_paint_ns=LINE.first_token_ns + 3 * MS)
    end = line.end_ns
    around = replace(
        AROUND,
        watched={StallCause.COLLECTOR: ((-5, -1), (MS, 2 * MS), (end + 1, end + 2))},
        paint_delays_ns=(MS, 3 * MS, 2 * MS),
        is_complete=False,
    )
    found = report(TRACE, line, INFO, _Costs(), around)
    assert found.collections == ((MS, 2 * MS),)
    assert found.times_ns[0] == line.first_token_ns - line.sent_ns
    assert found.gaps_ns == (10 * MS,) * 100
    assert not found.is_complete
    assert found.paint is not None
    assert (found.paint.num_paints, found.paint.p50_ns, found.paint.max_ns) == (3, 2 * MS, 3 * MS)


def test_what_the_machine_did() -> None:
    state = MachineState(4, 3, 0.5, 2_100.0, 3_200.0, 71.0, 100.0, True, False, 5, 0.1, 0.2, 0.3)
    found = report(TRACE, LINE, INFO, _Costs(), replace(AROUND, machine=state))
    assert found.machine == MachineUse(
        4, 3, 0.5, 2_100.0, 3_200.0, 71.0, 100.0, True, False, 0.1, 0.2, 0.3
    )
    assert found.mean_mhz == 2_100.0
    assert report_json(found)["machine"]["other_cores"] == 0.5
    assert report_json(found)["machine"]["stolen"] == 0.3
