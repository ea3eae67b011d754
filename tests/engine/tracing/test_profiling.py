"""Profiles on a tiny model: whole, between answers, and never at their cost."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from engine.api import (
    Event,
    Failure,
    Finished,
    GenerationRequest,
    LayerTime,
    ModelOptions,
    ModelProfiled,
    ModelReady,
    Part,
    PassProfile,
    SamplingParams,
    TokensProduced,
)
from engine.core import EngineCore
from engine.errors import EngineError
from engine.tracing.profiling import DECODE_STEPS, Profiler
from tests.helpers.tiny_models import write_tiny_model

OUTSIDE = {Part.EMBED, Part.HEAD, Part.SAMPLING, Part.OTHER}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture
def core(path: Path):
    before = torch.get_num_threads()
    core = EngineCore()
    loaded = core.load(ModelOptions(str(path), threads=1))[-1]
    assert isinstance(loaded, ModelReady)
    yield core
    core.unload()
    torch.set_num_threads(before)


def finish(core: EngineCore) -> list[Event]:
    events: list[Event] = []
    for _ in range(500):
        if not core.has_work:
            return events
        events += core.step()
    raise AssertionError("it does not end")


def profile_of(events: list[Event]) -> PassProfile:
    (profiled,) = (event for event in events if isinstance(event, ModelProfiled))
    assert profiled.problem == ""
    assert profiled.profile is not None
    return profiled.profile


def answer(core: EngineCore, name: str) -> tuple[int, ...]:
    params = SamplingParams(max_tokens=6, ignore_eos=True, seed=3)
    events = core.submit(GenerationRequest(name, 0, params, prompt="abba"))
    events += finish(core)
    assert any(isinstance(event, Finished) for event in events)
    return tuple(
        token for event in events if isinstance(event, TokensProduced) for token in event.token_ids
    )


def parts(times: tuple[LayerTime, ...], layer: int | None) -> set[Part]:
    return {time.part for time in times if time.layer == layer}


@pytest.mark.parametrize(("context", "prompt"), [(20, 30), (30, 20), (1, 1), (40, 40)])
def test_both_passes_part_by_part(core, context, prompt) -> None:
    assert core.profile(7, context, prompt) == []
    events = finish(core)
    found = profile_of(events)
    assert (found.context, found.prompt_tokens, found.num_steps) == (context, prompt, DECODE_STEPS)
    for times in (found.decode, found.prefill):
        assert parts(times, None) == OUTSIDE
        assert parts(times, 0) == parts(times, 1)
        assert parts(times, 0) <= set(Part) - OUTSIDE
        assert Part.FFN in parts(times, 0)
    assert found.decode_ns == sum(time.nanoseconds for time in found.decode) > 0
    assert found.prefill_ns > 0


def test_lengths_are_cut_to_what_fits(core) -> None:
    core.profile(1, 10**9, 10**9)
    found = profile_of(finish(core))
    assert core.info is not None
    assert found.context == found.prompt_tokens <= core.info.context_length - DECODE_STEPS


def test_answers_are_the_same_and_the_cache_is_given_back(core) -> None:
    plain = answer(core, "a")
    blocks = core.stats().kv_live_blocks, core.stats().kv_cached_blocks
    core.profile(1, 30, 20)
    profile_of(finish(core))
    assert (core.stats().kv_live_blocks, core.stats().kv_cached_blocks) == blocks
    assert answer(core, "b") == plain


def test_answers_go_first(core) -> None:
    core.profile(1, 20, 20)
    core.step()
    params = SamplingParams(max_tokens=4, ignore_eos=True)
    core.submit(GenerationRequest("a", 0, params, prompt="abba"))
    events = finish(core)
    ended = [event for event in events if isinstance(event, Finished | ModelProfiled)]
    assert [type(event) for event in ended] == [Finished, ModelProfiled]


def test_a_piece_that_is_stopped_is_done_again(core) -> None:
    core.profile(1, 20, 20)
    assert core.step(lambda: True) == []
    profile_of(finish(core))


def test_profiles_come_in_order_and_can_be_cancelled(core) -> None:
    session = core._session
    assert session is not None
    for ticket in (1, 2, 3):
        core.profile(ticket, 9, 9)
    core.step()
    session.profiler.cancel(1)
    session.profiler.cancel(3)
    session.profiler.cancel(99)
    assert core.stats().kv_live_blocks == 0
    events = finish(core)
    assert [event.ticket for event in events if isinstance(event, ModelProfiled)] == [2]


def test_another_model_ends_a_profile_with_a_sentence(core) -> None:
    core.profile(1, 20, 20)
    core.step()
    events = core.unload()
    (profiled,) = (event for event in events if isinstance(event, ModelProfiled))
    assert profiled.profile is None
    assert profiled.problem.endswith(".")
    (without,) = core.profile(2, 20, 20)
    assert isinstance(without, ModelProfiled)
    assert "No model" in without.problem


def test_no_room_is_a_sentence(core) -> None:
    session = core._session
    assert session is not None
    session.kv.allocate_private("other")
    assert session.kv.append("other", session.kv.capacity) is not None
    core.profile(1, 20, 20)
    (profiled,) = finish(core)
    assert isinstance(profiled, ModelProfiled)
    assert profiled.profile is None
    assert "no room" in profiled.problem
    session.kv.free("other")
    session.kv.check_integrity()


def test_a_failing_pass_ends_the_profile_and_frees_its_blocks(core, monkeypatch) -> None:
    session = core._session
    assert session is not None

    def fail(*_: object) -> None:
        raise EngineError("It broke.")

    core.profile(1, 20, 20)
    monkeypatch.setattr(type(session.model.decoder), "forward", fail)
    (profiled,) = finish(core)
    assert profiled == ModelProfiled(1, None, "It broke.")
    assert core.stats().kv_live_blocks == 0


def test_a_fault_of_ours_still_has_its_event(core, monkeypatch) -> None:
    live = core._session.kv.num_live_blocks

    def fail(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(core._session.profiler, "_do_piece", fail)
    core.profile(1, 8, 8)
    with pytest.raises(RuntimeError, match="a fault"):
        core.step()
    failure = Failure("engine", "It broke.")
    (event,) = core.fail_all(failure)
    assert isinstance(event, ModelProfiled)
    assert (event.ticket, event.profile) == (1, None)
    assert not core.has_work
    assert core._session.kv.num_live_blocks == live


def test_the_whole_is_what_the_clock_says(core) -> None:
    """By a clock that counts its readings: each step is one reading after the other."""
    session = core._session
    assert session is not None
    readings = 0

    def clock() -> int:
        nonlocal readings
        readings += 1
        return 10 * readings

    model = replace(session.model, decoder=Opaque(session.model.decoder))
    profiler = Profiler(model, session.kv, Failure.of, clock)
    profiler.profile(1, 5, 5)
    events: list[Event] = []
    while profiler.has_work:
        events += profiler.step(lambda: False)
    found = profile_of(events)
    # start, before and after sampling, end
    assert found.decode == (
        LayerTime(None, Part.SAMPLING, 10),
        LayerTime(None, Part.OTHER, 20),
    )
    assert readings == 4 * (1 + 1 + DECODE_STEPS)


class Opaque:
    """A decoder that cannot be looked into."""

    def __init__(self, decoder) -> None:
        self.forward = decoder.forward
        self.weights_bytes = decoder.weights_bytes
