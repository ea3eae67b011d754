"""Readings become figures and tables, in words."""

from dataclasses import replace

import pytest

from app.controllers.experiments.results import shown_pair, shown_run
from app.controllers.experiments.views import VIEWS, Side, differences_of, figures_of
from app.controllers.experiments.words import experiment_row, metric_kind, metric_words
from app.experiments import caching, capacity, guessing, precision, streams
from app.experiments.catalogue import EXPERIMENTS
from app.experiments.runs import Run, Setting
from app.experiments.trials import Reading
from ui.charts.figures import BarFigure, LineFigure

SETTING = Setting("Test CPU", 2, "Small", "int4", "int8", 2048)


def run_of(experiment, readings, **setting):
    return Run(
        f"20261130-{experiment}",
        experiment,
        "quick",
        "2026-11-30T12:00:00+00:00",
        replace(SETTING, **setting),
        tuple(readings),
    )


def speeds(factor=1.0):
    names = ("int4", "int8", "bf16", "fp32")
    rates = (120.0, 90.0, 50.0, 40.0)
    return [
        Reading(
            precision.SPEED, float(n), {"decode_rate": factor * rate, "bytes": 1e8 / rate}, name
        )
        for n, (name, rate) in enumerate(zip(names, rates, strict=True))
    ]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_every_experiment_has_words_and_charts(experiment):
    row = experiment_row(experiment.name)
    assert row.title
    assert row.line
    for view in VIEWS[experiment.name]:
        assert metric_words(view.metric)
        assert metric_kind(view.metric)
    assert figures_of(experiment.name, [Side(())]) == ()


def test_one_series_needs_no_name_and_two_have_theirs():
    readings = [
        Reading(name, x, {caching.GAP: x, caching.TOTAL: x})
        for name in (caching.KEPT, caching.ANEW)
        for x in (1.0, 2.0)
    ]
    gaps, totals = figures_of("cache", [Side(tuple(readings))])
    assert isinstance(gaps, LineFigure)
    assert [series.name for series in gaps.series] == ["with the cache", "without the cache"]
    assert totals.title == "Time so far"
    (only,) = figures_of("answer", [Side((Reading("answer", 1.0, {"itl_ms": 5.0}),))])
    assert only.series[0].name == ""


def test_precisions_are_bars():
    figures = figures_of("weights", [Side(tuple(speeds()))])
    assert all(isinstance(figure, BarFigure) for figure in figures)
    assert figures[0].categories == ("INT4", "INT8", "BF16", "FP32")
    assert figures[0].series[0].bars[0].value == 120.0


def test_what_is_calculated_is_marked():
    readings = (
        Reading(capacity.CALCULATED, 256.0, {"streams": 32.0}),
        Reading(capacity.CALCULATED, 512.0, {"streams": 16.0}),
        Reading(capacity.MEASURED, 512.0, {"streams": 16.0}),
    )
    (figure,) = figures_of("capacity", [Side(readings)])
    assert [series.is_calculated for series in figure.series] == [True, False]
    busy = (
        Reading(streams.CEILINGS, 0.0, {streams.PEAK: 1e12}),
        Reading(streams.SERIES, 1.0, {"rate": 9.0, "itl_ms": 9.0, "flops_per_s": 5e10}),
    )
    assert figures_of("streams", [Side(busy)])[-1].series[0].is_calculated


def test_two_runs_are_named_by_what_differs():
    first = run_of("weights", speeds())
    second = run_of("weights", speeds(0.5), kv="float32")
    shown = shown_pair(first, second)
    names = [series.name for series in shown.figures[0].series]
    assert names == ["cache INT8", "cache FP32"]
    assert shown.differences.headings == ("What", "Where", "cache INT8", "cache FP32", "Change")
    assert shown.differences.rows[0] == (
        "Speed of the answer",
        "INT4",
        "120 tok/s",
        "60.0 tok/s",
        "-50.0%",
    )
    change, *each = shown.sentence.split("\n")
    assert change == "cache FP32 against cache INT8: Speed of the answer -50%."
    assert [words.partition(":")[0] for words in each] == ["cache INT8", "cache FP32"]
    assert shown.notes == ""


def test_what_is_nearly_the_same_is_said_to_be():
    first = run_of("weights", speeds())
    second = run_of("weights", speeds(1.03), kv="float32")
    change = shown_pair(first, second).sentence.split("\n")[0]
    assert change == "cache INT8 and cache FP32: Speed of the answer within 5% the same."


def test_doubts_about_one_of_two_runs_are_told_with_its_name():
    first = run_of("weights", speeds())
    second = replace(run_of("weights", speeds(), kv="float32"), other_cores=1.2)
    notes = shown_pair(first, second).notes
    assert notes.startswith("cache FP32: Other programs kept 1.2 cores busy meanwhile.")


@pytest.mark.parametrize(("name", "change"), [("weights", "precision"), ("kv", "kv")])
def test_what_an_experiment_sets_itself_tells_no_runs_apart(name, change):
    first = run_of(name, speeds())
    setting = replace(first.setting, **{change: "another"})
    second = replace(first, run_id="b", at="2026-11-29T12:00:00+00:00", setting=setting)
    names = [series.name for series in shown_pair(first, second).figures[0].series]
    assert all("26" in name for name in names)


def test_two_runs_of_the_same_setting_are_named_by_their_times():
    first = run_of("weights", speeds())
    second = replace(first, run_id="b", at="2026-11-29T12:00:00+00:00")
    names = [series.name for series in shown_pair(first, second).figures[0].series]
    assert len(set(names)) == 2
    assert all("26" in name for name in names)
    thorough = replace(second, depth="full")
    assert "Thorough" in shown_pair(first, thorough).figures[0].series[1].name


def test_long_curves_are_compared_in_some_places():
    readings = [Reading("answer", float(x), {"itl_ms": float(x)}) for x in range(1, 101)]
    run = run_of("answer", readings)
    table = differences_of("answer", run, run)
    assert len(table.rows) == 5
    assert table.rows[-1][1] == "100"


def test_a_run_says_what_is_to_be_known_of_it():
    calm = run_of("weights", speeds())
    assert shown_run(calm).notes == "What each loses is measured by a thorough run."
    busy = run_of("weights", [*speeds(), *speeds(2.0)])
    assert "Repeats lie far apart" in shown_run(busy).notes
    beside = replace(calm, other_cores=1.4)
    assert "kept 1.4 cores busy" in shown_run(beside).notes
    failed = replace(calm, is_complete=False, failures=("bf16: no room",))
    assert shown_run(failed).notes.splitlines()[0] == "Not all of it was measured."
    assert shown_run(failed).notes.splitlines()[-1] == "bf16: no room"
    guesses = [Reading(guessing.PLAIN, 2.0, {"rate": 1.0}, guessing.NGRAMS)]
    assert "draft" in shown_run(run_of("guessing", guesses)).notes
