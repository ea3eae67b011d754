"""What is kept of the measurements, and that every figure is one."""

import json
import math
from dataclasses import replace

import pytest
import torch

from engine import roofline
from engine.api import Precision
from engine.roofline import (
    Ceilings,
    best_of,
    cache_path,
    ceilings_of,
    measure,
    read_ceilings,
    write_ceilings,
)

MADE_UP = Ceilings("cpu", 2, *(float(i) for i in range(1, 11)))


@pytest.fixture
def small(monkeypatch):
    """The same measurements, on little enough to be quick."""
    monkeypatch.setattr(roofline, "_BUFFER_BYTES", 1 << 20)
    monkeypatch.setattr(roofline, "_MATRIX", 64)
    monkeypatch.setattr(roofline, "_ROWS", 16)
    monkeypatch.setattr(roofline, "_ROW_SET_BYTES", 1 << 14)
    monkeypatch.setattr(roofline, "_CALLS", 10)


@pytest.mark.usefixtures("small")
def test_every_figure_is_measured():
    before = torch.get_num_threads()
    values = measure(threads=1).as_json()
    assert torch.get_num_threads() == before
    assert values.pop("device") in {"cpu", "cuda"}
    assert values["threads"] == 1
    assert all(math.isfinite(value) and value > 0 for value in values.values())


@pytest.mark.usefixtures("small")
def test_measured_once(tmp_path, monkeypatch):
    path = tmp_path / "folder" / "roofline.json"
    first = ceilings_of(path, threads=1)
    monkeypatch.setattr(roofline, "measure", None)
    assert ceilings_of(path) == first == read_ceilings(path)
    assert list(path.parent.iterdir()) == [path]


def test_other_threads_are_measured_anew(tmp_path, monkeypatch):
    path = tmp_path / "roofline.json"
    write_ceilings(MADE_UP, path)
    monkeypatch.setattr(roofline, "measure", lambda threads: replace(MADE_UP, threads=threads))
    assert ceilings_of(path, threads=2) == MADE_UP
    assert ceilings_of(path, threads=7).threads == 7


def test_the_file_is_named_after_the_machine(isolated_home):
    path = cache_path()
    assert path.parent == isolated_home / "cache"
    assert path == cache_path()
    assert cache_path(isolated_home / "x").parent == isolated_home / "x"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        json.dumps({"version": 0, **MADE_UP.as_json()}),
        json.dumps({"version": 1, **MADE_UP.as_json(), "call_s": 0}),
        json.dumps({"version": 1, **MADE_UP.as_json(), "call_s": True}),
        json.dumps({"version": 1, **MADE_UP.as_json(), "call_s": "fast"}),
        json.dumps({"version": 1, **MADE_UP.as_json(), "call_s": math.nan}),
        json.dumps({"version": 1, **MADE_UP.as_json(), "more": 1}),
    ],
)
def test_a_damaged_file_counts_as_none(tmp_path, text):
    path = tmp_path / "roofline.json"
    path.write_text(text, "utf-8")
    assert read_ceilings(path) is None
    assert read_ceilings(tmp_path / "missing.json") is None


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path):
    (tmp_path / "file").touch()
    write_ceilings(MADE_UP, tmp_path / "file" / "roofline.json")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_best_of_two_busy_hours_is_kept():
    slow = replace(MADE_UP, call_s=9.0, int8_flops_per_s=0.5)
    assert best_of(slow, MADE_UP) == best_of(MADE_UP, slow) == MADE_UP
    assert best_of(None, slow) == slow
    assert best_of(replace(MADE_UP, threads=8), slow) == slow


def test_rates_by_precision():
    assert MADE_UP.flops_per_s(Precision.FP32) == 3
    assert MADE_UP.flops_per_s(Precision.INT4) == 6
    assert MADE_UP.weight_bytes_per_s(Precision.INT4) == 1
