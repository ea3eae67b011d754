from dataclasses import replace

import pytest

from app.experiments import streams
from app.experiments.trials import AnswerSeen, ProgramTrial, Reading, Seen
from engine.api import Device

MS = 1_000_000


def seen(count, gap_ms):
    """``count`` answers that begin together, a token every ``gap_ms`` each."""
    times = tuple(round(n * gap_ms * MS) for n in range(48))
    return Seen((AnswerSeen(times),) * count, count)


def test_speed_is_of_all_and_the_gap_is_of_one(subject):
    _ceilings, one, *_, many = streams.plan(subject)
    (single,) = streams.read(subject, one, seen(1, 10.0))
    (all_of,) = streams.read(subject, many, seen(16, 40.0))
    assert single.values[streams.RATE] == pytest.approx(100.0)
    assert all_of.values[streams.RATE] == pytest.approx(400.0)
    assert all_of.values[streams.ITL] == pytest.approx(40.0)


def test_the_use_of_arithmetic_is_a_share_of_what_was_measured(subject):
    ceilings, one, *_rest = streams.plan(subject)
    assert isinstance(ceilings, ProgramTrial)
    printed = {"device": "cpu", "int4_flops_per_s": 1e12, "host": None}
    readings = streams.read(subject, ceilings, Seen(printed=printed))
    readings += streams.read(subject, one, seen(1, 10.0))
    *_, measured = streams.with_use(readings)
    operations = 100.0 * 2 * subject.info.num_parameters
    assert measured.values[streams.USE] == pytest.approx(operations / 1e12)


def test_without_ceilings_there_is_no_share(subject):
    _ceilings, one, *_rest = streams.plan(subject)
    readings = streams.read(subject, one, seen(1, 10.0))
    assert streams.with_use(readings) == readings


def test_a_gpu_is_measured_against_itself(subject):
    on_gpu = replace(subject, info=replace(subject.info, device=Device.CUDA))
    printed = {
        "device": "cuda",
        "int4_flops_per_s": 9e12,
        "host": {"device": "cpu", "int4_flops_per_s": 1e12},
    }
    ceilings = streams.plan(subject)[0]
    for who, peak in ((on_gpu, 9e12), (subject, 1e12)):
        assert streams.read(who, ceilings, Seen(printed=printed)) == (
            Reading("ceilings", 0.0, {streams.PEAK: peak}),
        )
    assert streams.read(subject, ceilings, Seen(printed={"device": "cuda"})) == ()


def test_more_streams_than_the_cache_holds_are_not_asked_for(subject):
    tight = replace(subject, info=replace(subject.info, kv_budget_bytes=4 * 1024**2))
    counts = [trial.x for trial in streams.plan(tight)[1:]]
    assert set(counts) == {1.0}


def test_an_answer_that_never_began_is_no_measurement(subject):
    _ceilings, one, *_rest = streams.plan(subject)
    assert streams.read(subject, one, Seen((AnswerSeen(),))) == ()
