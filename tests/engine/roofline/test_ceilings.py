"""What is kept of the measurements, and what is made of a file that is none."""

import json
import math
from dataclasses import replace

import pytest

from engine.api import Precision
from engine.roofline.ceilings import (
    VERSION,
    Ceilings,
    best_of,
    cache_path,
    read_ceilings,
    write_ceilings,
)

MADE_UP = Ceilings("cpu", 2, *(float(i) for i in range(1, 15)))
BOTH = replace(MADE_UP, device="cuda", host=MADE_UP)
GOOD = {"version": VERSION, **MADE_UP.as_json()}


def test_the_file_is_named_after_the_machine(isolated_home):
    path = cache_path()
    assert path.parent == isolated_home / "cache"
    assert path == cache_path()
    assert cache_path(isolated_home / "x").parent == isolated_home / "x"


@pytest.mark.parametrize("ceilings", [MADE_UP, BOTH])
def test_what_is_written_is_read(tmp_path, ceilings):
    path = tmp_path / "folder" / "roofline.json"
    write_ceilings(ceilings, path)
    assert read_ceilings(path) == ceilings
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        json.dumps({**GOOD, "version": 0}),
        json.dumps({**GOOD, "layer_s": 0}),
        json.dumps({**GOOD, "layer_s": True}),
        json.dumps({**GOOD, "layer_s": "fast"}),
        json.dumps({**GOOD, "layer_s": math.nan}),
        json.dumps({**GOOD, "host": 3}),
        json.dumps({**GOOD, "host": {}}),
        json.dumps({**GOOD, "more": 1}),
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
    slow = replace(MADE_UP, layer_s=9.0, int8_flops_per_s=0.5)
    assert best_of(slow, MADE_UP) == best_of(MADE_UP, slow) == MADE_UP
    assert best_of(None, slow) == slow
    assert best_of(replace(MADE_UP, threads=8), slow) == slow
    both = replace(BOTH, host=slow)
    assert best_of(BOTH, both) == BOTH


def test_rates_by_precision():
    assert MADE_UP.flops_per_s(Precision.FP32) == 7
    assert MADE_UP.flops_per_s(Precision.INT4) == 10
    assert MADE_UP.weight_bytes_per_s(Precision.INT4) == 1


def test_each_device_has_its_own():
    assert MADE_UP.of(is_cuda=False) is MADE_UP
    assert MADE_UP.of(is_cuda=True) is None
    assert BOTH.of(is_cuda=True) is BOTH
    assert BOTH.of(is_cuda=False) is MADE_UP
