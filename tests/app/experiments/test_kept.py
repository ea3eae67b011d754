"""Runs survive the disk; what is damaged is left out, and left where it is."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.experiments.kept import Unreadable, read_runs, remove_run, run_from, write_run
from app.experiments.runs import Run, Setting
from app.experiments.trials import Reading

SETTING = Setting("Test CPU", 2, "Small", "int4", "bfloat16", 2048)
RUN = Run(
    "20261130-120000-000000-cache",
    "cache",
    "quick",
    "2026-11-30T12:00:00+00:00",
    SETTING,
    (Reading("kept", 64.0, {"total_ms": 12.5}), Reading("speed", 0.0, {"rate": 1.0}, "int4")),
    failures=("bf16: no room",),
    other_cores=0.5,
)


def test_a_run_comes_back_as_it_was(tmp_path):
    write_run(tmp_path / "runs", RUN)
    later = replace(RUN, run_id="20261130-130000-000000-cache")
    write_run(tmp_path / "runs", later)
    assert read_runs(tmp_path / "runs") == [later, RUN]
    remove_run(tmp_path / "runs", later.run_id)
    remove_run(tmp_path / "runs", "none")
    assert read_runs(tmp_path / "runs") == [RUN]


def test_no_folder_holds_no_runs(tmp_path):
    assert read_runs(tmp_path / "none") == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda _text: "\x00" * 64,
        lambda _text: "[]",
        lambda text: text.replace('"version": 1', '"version": 2'),
        lambda text: text.replace("12.5", "NaN"),
        lambda text: text.replace("12.5", "true"),
        lambda text: text.replace('"threads": 2', '"threads": "two"'),
        lambda text: text.replace('"readings"', '"reading"'),
        lambda text: text.replace("-cache", "-other", 1),
        lambda text: text.replace('"other_cores": 0.5', '"other_cores": "many"'),
    ],
)
def test_a_damaged_file_is_left_out_and_left_alone(tmp_path, logfail, damage):
    write_run(tmp_path, RUN)
    good = replace(RUN, run_id="20261130-130000-000000-cache")
    write_run(tmp_path, good)
    file = tmp_path / f"{RUN.run_id}.json"
    file.write_text(damage(file.read_text("utf-8")), "utf-8")
    logfail.expect("A kept experiment cannot be read")
    assert read_runs(tmp_path) == [good]
    assert file.exists()


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


NAMES = (
    "run_id",
    "experiment",
    "depth",
    "at",
    "setting",
    "readings",
    "is_complete",
    "failures",
)


@given(st.sampled_from(NAMES), JSON)
def test_any_value_is_refused_or_understood(name, value):
    document = {
        "run_id": "a",
        "experiment": "cache",
        "depth": "quick",
        "at": "now",
        "setting": {
            "machine": "",
            "threads": 1,
            "model": "",
            "precision": "",
            "kv": "",
            "context": 1,
            "draft": "",
        },
        "readings": [],
        "is_complete": True,
        "failures": [],
    }
    document[name] = value
    try:
        run = run_from(document)
    except Unreadable:
        return
    assert isinstance(run.readings, tuple)
    assert all(isinstance(text, str) for text in run.failures)
