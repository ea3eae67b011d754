"""Memory by its uses, done by hand, and doubts about the ceilings."""

from dataclasses import replace

from engine.api import Device, GpuMemory
from ui.inspector.machine.picture import (
    MachinePicture,
    MemoryPart,
    Use,
    card_parts,
    memory_parts,
)

MIB = 1 << 20


def by_use(parts):
    return {part.use: part.num_bytes // MIB for part in parts}


def test_memory_of_a_model_on_the_processor(stats):
    parts = memory_parts(stats, Device.CPU)
    assert by_use(parts) == {
        Use.WEIGHTS: 90,
        Use.KV: 2,
        Use.WORKING: 500 - 300 - 90 - 2,
        Use.RUNTIME: 300,
        Use.OTHERS: 4096,
        Use.FREE: 16_384 - 500 - 4096,
    }
    assert sum(part.num_bytes for part in parts) == stats.total_memory_bytes


def test_weights_that_are_not_resident_yet_are_not_counted_twice(stats):
    parts = memory_parts(replace(stats, process_bytes=340 * MIB), Device.CPU)
    assert by_use(parts)[Use.WEIGHTS] == 40
    assert by_use(parts)[Use.KV] == by_use(parts)[Use.WORKING] == 0


def test_a_model_on_a_card_has_nothing_of_it_in_main_memory(stats):
    found = by_use(memory_parts(stats, Device.CUDA))
    assert (found[Use.WEIGHTS], found[Use.KV], found[Use.WORKING]) == (0, 0, 200)


def test_memory_of_a_card(stats):
    card = GpuMemory(8_000 * MIB, 6_500 * MIB, 250 * MIB, 400 * MIB)
    parts = card_parts(stats, card)
    assert by_use(parts) == {
        Use.WEIGHTS: 90,
        Use.KV: 128,
        Use.WORKING: 250 - 90 - 128,
        Use.UNUSED: 150,
        Use.OTHERS: 8_000 - 6_500 - 400,
        Use.FREE: 6_500,
    }
    assert sum(part.num_bytes for part in parts) == card.total_bytes


def test_parts_of_a_card_are_never_negative(stats):
    parts = card_parts(stats, GpuMemory(100 * MIB, 40 * MIB, 50 * MIB, 60 * MIB))
    assert parts[0] == MemoryPart(Use.WEIGHTS, 50 * MIB)
    assert min(part.num_bytes for part in parts) >= 0


def test_an_answer_above_a_ceiling(picture, exceeded):
    assert not picture.is_exceeded
    assert exceeded.is_exceeded
    assert not MachinePicture().is_exceeded
    measured_since = replace(exceeded.ceilings, read_bytes_per_s=2e10)
    assert not replace(exceeded, ceilings=measured_since).is_exceeded


def test_ceilings_of_long_ago(picture):
    assert not picture.is_old
    assert replace(picture, age_s=100 * 24 * 3600.0).is_old
    assert not MachinePicture(age_s=1e9).is_old
