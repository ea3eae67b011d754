"""Times of parts: none is lost, the numbers stay the same, and who is not timed reads no clock."""

from contextlib import closing
from dataclasses import replace
from itertools import count

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.api import LayerTime, Part, Precision
from engine.kernels.library import open_core
from engine.model.architectures.deepseek_v4.decoder import V4Decoder
from engine.model.architectures.deepseek_v4.source import V4Source
from engine.model.batch import Decoder
from engine.model.native import NativeDecoder
from engine.model.part_clock import PartClock, layer_times, layers_apart, timed
from tests.engine.model import test_native_step as steps
from tests.engine.model import test_offloaded as offloaded
from tests.helpers.decoding import (
    CPU,
    CachedSequence,
    forward,
    ignore_progress,
    make_storage,
    never,
)
from tests.helpers.v4_models import compressed_storage, write_v4_folder

PARTS = len(Part)
OF_LAYERS = {Part.NORM, Part.QKV, Part.ROTARY, Part.ATTENTION, Part.OUTPUT, Part.FFN}


def ticks(step: int = 7):
    """A clock that is ``step`` later each time it is read."""
    times = count(1_000, step)
    return lambda: next(times)


def cell(clock: PartClock, row: int, part: Part) -> int:
    return clock.table[row * PARTS + list(Part).index(part)]


def test_laps_add_up_to_the_whole() -> None:
    clock = PartClock(2, ticks())
    clock.start()
    clock.lap(0, Part.QKV)
    clock.lap(1, Part.FFN)
    clock.lap(None, Part.HEAD)
    clock.lap(0, Part.QKV)
    assert cell(clock, 0, Part.QKV) == 14
    assert cell(clock, 2, Part.HEAD) == 7
    assert sum(clock.table) == 4 * 7


def test_what_native_code_did_not_count_is_other() -> None:
    clock = PartClock(1, ticks(100))
    clock.start()
    clock.lap(None, Part.EMBED)
    native = (torch.frombuffer(clock.table, dtype=torch.int64)).view(2, PARTS)  # as it sees it
    assert native.data_ptr() == clock.address
    native[0, 0] += 60
    clock.settle()
    assert cell(clock, 1, Part.OTHER) == 40
    clock.lap(None, Part.SAMPLING)
    assert sum(clock.table) == 300


@given(st.lists(st.integers(0, 10**9), min_size=PARTS, max_size=PARTS), st.integers(1, 50))
def test_means_add_up_to_the_mean(nanoseconds: list[int], passes: int) -> None:
    times = layer_times([*nanoseconds, *nanoseconds], passes)
    assert sum(time.nanoseconds for time in times) == 2 * sum(nanoseconds) // passes
    assert all(time.nanoseconds > 0 for time in times)


def test_times_are_named_by_layer_and_part() -> None:
    table = [0] * (3 * PARTS)
    table[PARTS + 3], table[2 * PARTS + 7] = 5, 6
    assert layer_times(table, 1) == (
        LayerTime(1, Part.ATTENTION, 5),
        LayerTime(None, Part.HEAD, 6),
    )


def test_layers_are_told_apart_by_the_question_before_each() -> None:
    clock = PartClock(2, ticks())
    clock.start()
    ask = layers_apart(never, clock)
    assert [ask(), ask()] == [False, False]
    clock.lap(1, Part.OTHER)
    assert [cell(clock, row, Part.OTHER) for row in range(3)] == [7, 7, 7]


def run(decoder: Decoder, storage, clock: PartClock | None = None) -> torch.Tensor:
    """Logits of a prompt and of three tokens more."""
    sequence = CachedSequence(tuple(range(8)))
    lengths = (50, 1, 1, 1)
    logits = []
    for length in lengths:
        if clock is not None:
            clock.start()
        logits.append(forward(decoder, storage, sequence.chunk(range(length), 1)))
    return torch.cat(logits)


def parts_of(clock: PartClock, layer: int) -> set[Part]:
    return {part for part in Part if cell(clock, layer, part)}


def native_decoder(step: bool, monkeypatch: pytest.MonkeyPatch) -> NativeDecoder:
    if not step:
        monkeypatch.setattr("engine.model.native.make_native_step", lambda *_: None)
        return steps.build_native(
            steps.StateDictSource(steps.CONFIG, steps.random_state_dict(steps.CONFIG)),
            Precision.INT8,
        )
    if open_core() is None:
        pytest.skip("the native core was not built")
    return steps.decoder_of(steps.CONFIG)


@pytest.mark.parametrize("step", [True, False], ids=["native", "torch"])
def test_a_timed_decoder_computes_the_same_and_knows_its_parts(step, monkeypatch) -> None:
    decoder = native_decoder(step, monkeypatch)
    clock = PartClock(steps.CONFIG.num_layers)
    plain = run(decoder, make_storage(steps.CONFIG, 8, 16))
    noted = run(timed(decoder, clock), make_storage(steps.CONFIG, 8, 16), clock)
    assert torch.equal(plain, noted)
    for layer in range(steps.CONFIG.num_layers):
        assert parts_of(clock, layer) == OF_LAYERS
    assert parts_of(clock, steps.CONFIG.num_layers) >= {Part.EMBED, Part.HEAD, Part.OTHER}
    assert min(clock.table) >= 0


@pytest.mark.parametrize("step", [True, False], ids=["native", "torch"])
def test_a_decoder_that_is_not_timed_reads_no_clock(step, monkeypatch) -> None:
    decoder = native_decoder(step, monkeypatch)
    clock = PartClock(steps.CONFIG.num_layers, ticks())
    timed(decoder, clock)
    monkeypatch.setattr(PartClock, "lap", None)
    monkeypatch.setattr(PartClock, "settle", None)
    before = list(clock.table)
    run(decoder, make_storage(steps.CONFIG, 8, 16))
    assert list(clock.table) == before == [0] * len(before)


def test_the_halves_of_a_split_model_are_one() -> None:
    decoder = offloaded.build(2)
    clock = PartClock(offloaded.CONFIG.num_layers)
    sequence = CachedSequence((1, 2, 3))
    plain = forward(decoder, offloaded.storage(2), sequence.chunk(offloaded.IDS[:20], 20))
    clock.start()
    again = CachedSequence((1, 2, 3)).chunk(offloaded.IDS[:20], 20)
    noted = forward(timed(decoder, clock), offloaded.storage(2), again)
    assert torch.equal(plain, noted)
    for layer in range(offloaded.CONFIG.num_layers):
        assert parts_of(clock, layer) == OF_LAYERS


def test_compressed_attention_knows_its_layers(tmp_path) -> None:
    with closing(V4Source.open(write_v4_folder(tmp_path / "v4"))) as source:
        decoder = V4Decoder.build(
            source, Precision.FP32, torch.float32, CPU, ignore_progress, never
        )
    config = decoder.config
    clock = PartClock(config.base.num_layers)

    def logits(of: Decoder) -> torch.Tensor:
        clock.start()
        chunk = CachedSequence((0, 1)).chunk(range(20), 1)
        return forward(of, compressed_storage(config, 4), chunk)

    assert torch.equal(logits(decoder), logits(timed(decoder, clock)))
    for layer in range(config.base.num_layers):
        assert parts_of(clock, layer) == {Part.OTHER}
    assert Part.HEAD in parts_of(clock, config.base.num_layers)


def test_gelu_and_scales_are_timed_as_well() -> None:
    config = replace(steps.FAMILIES["gelu and scales"], num_layers=1)
    decoder = steps.build_native(steps.StateDictSource(config, steps.random_state_dict(config)))
    clock = PartClock(1)
    plain = run(decoder, make_storage(config, 8, 16))
    assert torch.equal(plain, run(timed(decoder, clock), make_storage(config, 8, 16), clock))
