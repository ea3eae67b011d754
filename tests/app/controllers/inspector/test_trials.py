"""Like is compared with like."""

from dataclasses import replace

import pytest

from app.controllers.inspector.trials import (
    Measure,
    can_try,
    measure_of,
    measure_words,
    predicted_gain,
    rate_of,
)
from engine.api import CacheMiss, Diagnosis, DiagnosisKind, MissKind, Remedy, Sentence
from tests.helpers.observations import MS, make_timeline

LINE = make_timeline(queue=50, prefill=400, decode=1_000, tokens=101, prompt=100, cached=20)


def diagnosis(kind):
    return Diagnosis(kind, Sentence.SEVERAL, {})


@pytest.mark.parametrize(
    ("kind", "key", "measure"),
    [
        (DiagnosisKind.DECODE_BOUND, "weights", Measure.DECODE),
        (DiagnosisKind.DECODE_BOUND, "threads", Measure.DECODE),
        (DiagnosisKind.PREFILL_BOUND, "weights", Measure.PREFILL),
        (DiagnosisKind.PREFILL_BOUND, "threads", Measure.PREFILL),
        (DiagnosisKind.CACHE_MISS, "kv_cache", Measure.DECODE),
        (DiagnosisKind.CACHE_MISS, "prefix_cache", Measure.REUSE),
        (DiagnosisKind.CACHE_MISS, "keep_cache", Measure.REUSE),
        (DiagnosisKind.CACHE_MISS, "kv_budget_mib", Measure.REUSE),
        (DiagnosisKind.MEMORY_SPILLED, "gpu_budget_mib", Measure.DECODE),
        (DiagnosisKind.QUEUE_BOUND, "max_streams", Measure.FIRST_TOKEN),
        (DiagnosisKind.CONTENDED, "threads", Measure.DECODE),
        (DiagnosisKind.STOLEN, "threads", Measure.DECODE),
    ],
)
def test_a_remedy_is_measured_by_what_it_works_on(kind, key, measure):
    assert measure_of(diagnosis(kind), Remedy(key, None, 1.3, 10), LINE) is measure


def test_what_slows_everything_is_measured_where_most_of_the_time_goes():
    line = make_timeline(prefill=4_000, decode=1_000)
    found = measure_of(diagnosis(DiagnosisKind.CONTENDED), Remedy("threads", 1, 1.3, 10), line)
    assert found is Measure.PREFILL


def test_rates_do_not_depend_on_the_length():
    assert rate_of(Measure.DECODE, LINE) == pytest.approx(100)
    assert rate_of(Measure.PREFILL, LINE) == pytest.approx(200)
    assert rate_of(Measure.REUSE, LINE) == pytest.approx(250)
    assert rate_of(Measure.FIRST_TOKEN, LINE) == pytest.approx(1e9 / LINE.ttft_ns)


def test_an_answer_that_is_too_short_or_starts_cold_tells_nothing():
    assert rate_of(Measure.DECODE, make_timeline(tokens=8)) is None
    assert rate_of(Measure.PREFILL, replace(LINE, num_cached_tokens=90)) is None
    cold = replace(LINE, cache_miss=CacheMiss(MissKind.RELOADED, 0, 80))
    assert rate_of(Measure.REUSE, cold) is None
    lost = replace(LINE, cache_miss=CacheMiss(MissKind.EVICTED, 0, 80))
    assert rate_of(Measure.REUSE, lost) == pytest.approx(250)


def test_the_promise_is_that_of_the_stage_it_works_on():
    remedy = Remedy("weights", "int4", 1.2, 500 * MS)
    kind = diagnosis(DiagnosisKind.DECODE_BOUND)
    assert predicted_gain(Measure.DECODE, kind, remedy, LINE) == pytest.approx(2.0)
    slowed = diagnosis(DiagnosisKind.CONTENDED)
    assert predicted_gain(Measure.DECODE, slowed, remedy, LINE) == pytest.approx(1_400 / 900)
    remedy = Remedy("threads", 2, 1.2, 200 * MS)
    kind = diagnosis(DiagnosisKind.PREFILL_BOUND)
    assert predicted_gain(Measure.PREFILL, kind, remedy, LINE) == pytest.approx(2.0)


def test_what_no_setting_does_cannot_be_tried():
    assert can_try(Remedy("kv", "int8", 1.1, 1))
    assert can_try(Remedy("max_streams", 40, 1.1, 1))
    assert can_try(Remedy("prefix_cache", True, 1.1, 1))
    assert not can_try(Remedy("power", None, 1.1, 1))
    assert not can_try(Remedy("other_programs", None, 1.1, 1))
    assert not can_try(Remedy("kv", "int3", 1.1, 1))


def test_every_measure_has_a_name():
    assert len({measure_words(measure) for measure in Measure}) == len(Measure)
