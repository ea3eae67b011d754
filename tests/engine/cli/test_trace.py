"""The trace command on a tiny model, as a shell runs it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.__main__ import main
from engine.api import Device
from engine.api.stages import STAGES
from engine.cli import trace
from engine.devices import physical_cores
from engine.roofline.ceilings import cache_path, write_ceilings
from tests.engine.cli.test_plan import CEILINGS
from tests.helpers.fake_model import make_info
from tests.helpers.scheduling import make_config
from tests.helpers.tiny_models import write_tiny_model


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """A command for a tiny model, with ceilings in a file so that nothing is measured."""
    model = write_tiny_model(tmp_path / "tiny.gguf")
    kept = tmp_path / "roofline.json"
    write_ceilings(CEILINGS, kept)
    given = ["--model", str(model), "--roofline", str(kept), "--threads", "1", "--greedy"]
    return ["trace", *given, "--prompt", "aabb", "--max-tokens", "12"]


def _json(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main([*words, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    result = json.loads(captured.out)
    assert isinstance(result, dict)
    return result


def test_json_has_every_part(words, capsys) -> None:
    result = _json(words, capsys)
    stages = result["stages"]
    assert [stage["name"] for stage in stages] == list(STAGES)
    assert sum(stage["duration_ms"] for stage in stages) == pytest.approx(result["total_ms"])
    assert all(stage["duration_ms"] >= 0 for stage in stages)
    assert all({"name", "start_ms", "duration_ms"} <= set(stage) for stage in stages)
    assert set(result["diagnosis"]) >= {"class", "evidence", "remedies", "sentence"}
    assert sum(chunk["computed"] for chunk in result["prefill_chunks"]) == result["prompt_tokens"]
    itl = result["itl_ms"]
    assert len(itl["values"]) == result["output_tokens"] - 1
    assert itl["p50"] <= itl["p95"] <= itl["max"] == max(itl["values"])
    kv = result["kv"]
    assert kv["tokens"] == result["prompt_tokens"] + result["output_tokens"] - 1
    assert kv["bytes"] == kv["tokens"] * kv["bytes_per_token"] <= kv["allocated_bytes"]
    assert sum(kind["bytes"] for kind in kv["kinds"]) == kv["bytes"]
    roofline = result["roofline"]
    assert roofline["ceilings"] == CEILINGS.as_json()
    assert roofline["decode"]["bytes_per_token"] > 0
    assert roofline["decode"]["arithmetic_intensity"] < roofline["prefill"]["arithmetic_intensity"]
    assert result["host"]["decode_forward_ms"] > 0


def test_raw_text_has_no_template(words, capsys) -> None:
    result = _json([*words, "--raw"], capsys)
    (template,) = (s for s in result["stages"] if s["name"] == "template")
    assert template["duration_ms"] == 0


def test_a_file_for_perfetto(words, tmp_path, capsys) -> None:
    path = tmp_path / "trace.json"
    result = _json([*words, "--chrome", str(path)], capsys)
    events = json.loads(path.read_text("utf-8"))["traceEvents"]
    assert {event["ph"] for event in events} >= {"X", "M", "C"}
    tokens = [event for event in events if event["name"] == "token"]
    assert len(tokens) == result["output_tokens"] - 1


def test_a_file_that_cannot_be_written_is_one_sentence(words, tmp_path, capsys) -> None:
    assert main([*words, "--chrome", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_layers_are_timed_when_asked(words, capsys) -> None:
    result = _json([*words, "--layers"], capsys)
    layers = result["layers"]
    assert layers["prompt_tokens"] == result["prompt_tokens"]
    assert layers["context"] == result["prompt_tokens"] + result["output_tokens"] - 1
    for stage in ("decode", "prefill"):
        assert {time["layer"] for time in layers[stage]} == {None, 0, 1}
        assert sum(t["ms"] for t in layers[stage]) == pytest.approx(layers[f"{stage}_ms"])
    assert main([*words, "--layers"]) == 0
    assert "attention" in capsys.readouterr().out


def test_people_get_bars_and_a_sentence(words, capsys) -> None:
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[: len(STAGES)]] == list(STAGES)
    assert lines[len(STAGES)].endswith(".")


def test_each_number_of_threads_has_its_own_ceilings(monkeypatch, capsys) -> None:
    asked: list[tuple[Path, int | None]] = []
    monkeypatch.setattr(trace, "ceilings_of", lambda path, threads: asked.append((path, threads)))
    info = make_info("fake.gguf", make_config(), 100)
    few, all_cores = physical_cores() + 1, physical_cores()
    for threads in (all_cores, few):
        trace.trace_ceilings(None, replace(info, threads=threads, device=Device.CPU))
    trace.trace_ceilings(Path("given.json"), replace(info, threads=few))
    own = cache_path()
    assert asked == [
        (own, None),
        (own.with_stem(f"{own.stem}-{few}-threads"), few),
        (Path("given.json"), None),
    ]
    assert "Measuring" in capsys.readouterr().err
