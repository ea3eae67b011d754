"""The plan and roofline commands, as a shell runs them."""

import json
import subprocess
import sys

import pytest

from engine.__main__ import main
from engine.api import Device
from engine.devices import GpuInfo
from engine.kernels.library import open_core
from engine.planner.machine import look_at_machine
from engine.roofline import measuring
from engine.roofline.ceilings import Ceilings, read_ceilings, write_ceilings
from tests.engine.roofline.test_measuring import SMALL

CEILINGS = Ceilings("cpu", 2, 1e10, *([1e-5] * 3), 1e11, 1e10, *([1e11] * 4), *([1e10] * 4))
GIB = 1 << 30


@pytest.fixture
def kept(tmp_path):
    """Ceilings in a file, so that nothing is measured."""
    path = tmp_path / "roofline.json"
    write_ceilings(CEILINGS, path)
    return str(path)


def test_json(kept, capsys):
    words = ["deepseek-v4-pro", "--kv", "bf16", "--context", "1048576", "--weights", "int4"]
    assert main(["plan", *words, "--roofline", kept, "--device", "cpu", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["kv_bytes"] / GIB == pytest.approx(9.62, abs=0.005)
    assert values["fits"] is False
    assert values["predicted_decode_tokens_per_s"] > 0
    assert values["predicted_prefill_tokens_per_s"] > 0


def test_estimates_are_marked_for_people(kept, capsys):
    assert main(["plan", "llama-7b", "--roofline", kept, "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    figures = [line for line in lines if "GB (" in line or "tokens/s" in line]
    assert len(figures) >= 8
    assert all("~" in line for line in figures)


def test_nothing_is_measured_where_no_speed_is_wanted(monkeypatch, capsys):
    monkeypatch.setattr(measuring, "measure", None)
    assert main(["plan", "smollm2-135m", "--no-speed", "--device", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predicted_decode_tokens_per_s"] is None


def test_an_unknown_model_is_one_sentence(capsys):
    assert main(["plan", "no-such-model"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "llama-7b" in captured.err


def test_memory_that_is_given_back(capsys):
    words = ["plan", "smollm2-135m", "--no-speed", "--device", "cpu", "--json"]
    assert main(words) == 0
    before = json.loads(capsys.readouterr().out)["available_bytes"]
    assert main([*words, "--bytes-to-free", str(1 << 50)]) == 0
    assert json.loads(capsys.readouterr().out)["available_bytes"] > before


def test_a_graphics_card_is_planned_for(monkeypatch):
    card = GpuInfo("card", 8 * GIB, 5 * GIB, (8, 6))
    monkeypatch.setattr("engine.planner.machine.find_gpu", lambda: card)
    machine = look_at_machine(Device.AUTO, GIB)
    assert machine.memory.is_cuda
    assert (machine.memory.usable_bytes, machine.memory.other_bytes) == (6 * GIB, 2 * GIB)
    assert machine.target.is_cuda
    assert machine.host is not None
    assert not machine.host.memory.is_cuda
    assert not look_at_machine(Device.CPU).memory.is_cuda


def test_roofline_measures_and_keeps(monkeypatch, tmp_path, capsys):
    for name, value in SMALL.items():
        monkeypatch.setattr(measuring, name, value)
    path = tmp_path / "kept.json"
    assert main(["roofline", "--threads", "1", "--roofline", str(path), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert read_ceilings(path) == Ceilings(**values)
    assert main(["roofline", "--threads", "1", "--roofline", str(path)]) == 0
    assert "GFLOP/s" in capsys.readouterr().out


def test_a_shipped_name_needs_no_torch(kept):
    """Answers at once: torch takes seconds to import."""
    script = (
        "import sys; from engine.__main__ import main;"
        f"assert main(['plan', 'llama-13b', '--json', '--device', 'cpu', '--roofline', {kept!r}]) == 0;"
        "assert 'torch' not in sys.modules"
    )
    if open_core() is None:
        pytest.skip("torch's own products must be tried out where there is no native core")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert json.loads(done.stdout)["kv_bytes_per_token"] > 0


def test_sixteen_bits_by_either_name(capsys):
    found = []
    for kind in ("bf16", "fp16"):
        words = ["plan", "llama-13b", "--kv", kind, "--no-speed", "--device", "cpu", "--json"]
        assert main(words) == 0
        found.append(json.loads(capsys.readouterr().out)["kv_bytes_per_token"])
    assert found == [40 * 2 * 5_120 * 2] * 2


def test_a_budget_for_the_card(monkeypatch, capsys):
    card = GpuInfo("card", 8 * GIB, 7 * GIB, (8, 6))
    monkeypatch.setattr("engine.planner.machine.find_gpu", lambda: card)
    words = ["plan", "smollm2-1.7b", "--no-speed", "--json", "--context", "512"]
    assert main([*words, "--gpu-budget", str(GIB)]) == 0
    values = json.loads(capsys.readouterr().out)
    assert 0 < values["cpu_layers"] < 24
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["cpu_layers"] == 0
