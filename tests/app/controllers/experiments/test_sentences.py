"""The sentence says what the readings show, and nothing from too little."""

from dataclasses import replace

import pytest

from app.controllers.experiments.sentences import sentence_of
from app.experiments import capacity, chunks, guessing, precision, streams
from app.experiments.catalogue import EXPERIMENTS
from app.experiments.trials import Reading


def answer(first, last):
    steps = [first + (last - first) * n / 19 for n in range(20)]
    return tuple(Reading("answer", 50.0 * n + 1, {"itl_ms": v}) for n, v in enumerate(steps))


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_too_little_says_nothing(experiment):
    assert sentence_of(experiment.name, ()) == ""


def test_an_answer_that_slows_down_and_one_that_does_not():
    assert "more: each one reads all the weights" in sentence_of("answer", answer(8.0, 12.0))
    assert "not the cache" in sentence_of("answer", answer(8.0, 8.1))
    assert "Measure again" in sentence_of("answer", answer(12.0, 8.0))


def test_answers_at_once():
    readings = (
        Reading(streams.CEILINGS, 0.0, {streams.PEAK: 1e12}),
        Reading("streams", 1.0, {"rate": 100.0, "itl_ms": 10.0, "flops_per_s": 3e10}),
        Reading("streams", 16.0, {"rate": 400.0, "itl_ms": 40.0, "flops_per_s": 12e10}),
    )
    words = sentence_of("streams", readings)
    assert words.startswith("16 answers at once get 400 tok/s together in place of 100 tok/s, 4.0")
    assert "~3.0% of the arithmetic this machine can do, 16 use ~12%" in words
    assert "arithmetic" not in sentence_of("streams", readings[1:])


def test_room_for_answers():
    readings = [
        Reading(capacity.CALCULATED, size, {"streams": count})
        for size, count in ((256.0, 32.0), (4096.0, 7.0))
    ]
    words = sentence_of("capacity", tuple(readings))
    assert words == (
        "~32 answers of 256 tokens have room in the cache at once, and ~7 of 4,096: context is not "
        "free."
    )
    exact = Reading(capacity.MEASURED, 4096.0, {"streams": 7.0})
    assert "exactly as many" in sentence_of("capacity", (*readings, exact))
    off = Reading(capacity.MEASURED, 4096.0, {"streams": 6.0})
    assert "at most 1" in sentence_of("capacity", (*readings, off))


def test_narrower_weights_and_caches():
    readings = (
        Reading(precision.SPEED, 0.0, {"decode_rate": 120.0, "bytes": 96e6}, "int4"),
        Reading(precision.SPEED, 4.0, {"decode_rate": 40.0, "bytes": 538e6}, "fp32"),
        Reading(precision.QUALITY, 0.0, {"top1_agreement": 0.93}, "int4"),
    )
    assert sentence_of("weights", readings) == (
        "INT4 writes 120 tok/s and FP32 40.0 tok/s: 3.0 times as fast. The weights take 91.6 MiB "
        "in place of 513 MiB. With INT4, 93% of the next tokens are those of full precision."
    )
    assert "A token takes" in sentence_of("kv", (readings[0], replace(readings[1], x=3.0)))


def test_guessing_and_chunks():
    guesses = tuple(
        Reading(series, x, {"rate": rate}, label)
        for series, rates in ((guessing.PLAIN, (50.0, 50.0)), (guessing.AHEAD, (150.0, 60.0)))
        for (x, label), rate in zip(((0.0, "repeating"), (1.0, "prose")), rates, strict=True)
    )
    assert sentence_of("guessing", guesses) == (
        "With tokens guessed ahead, answers come 3.0 times as fast on repeating text, 1.20 times "
        "as fast on prose. Text that repeats itself is easy to guess. No answer changes."
    )
    pieces = tuple(
        Reading(chunks.SERIES, size, {"stall_ms": stall, "ttft_ms": ttft})
        for size, stall, ttft in ((32.0, 30.0, 1_200.0), (1025.0, 900.0, 900.0))
    )
    assert "waits at most 30.0 ms and the prompt 1.20 s" in sentence_of("chunks", pieces)
