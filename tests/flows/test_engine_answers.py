"""The real starter model through scheduler, blocks and sampler: one answer, however it is computed."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.api import (
    Event,
    Finished,
    FinishReason,
    GenerationRequest,
    Message,
    ModelOptions,
    ModelReady,
    Precision,
    SamplingParams,
    TokensProduced,
)
from engine.core import EngineCore

pytestmark = pytest.mark.flow

NUM_TOKENS = 8
GREEDY = SamplingParams(temperature=0, max_tokens=NUM_TOKENS, ignore_eos=True)
SEEDED = SamplingParams(temperature=0.9, seed=7, max_tokens=NUM_TOKENS, ignore_eos=True)
QUESTIONS = ("What is the capital of France?", "Name a colour.", "Why is the sky blue?")


def _load(path: Path, **options: object) -> EngineCore:
    core = EngineCore()
    chosen = ModelOptions(str(path), weights=Precision.FP32, context_length=256, **options)
    assert isinstance(core.load(chosen)[-1], ModelReady)
    return core


@pytest.fixture(scope="module")
def core(starter_model: Path) -> Iterator[EngineCore]:
    core = _load(starter_model, max_batch_tokens=16)
    yield core
    core.unload()


def _ask(
    core: EngineCore, messages: tuple[Message, ...], params: SamplingParams = GREEDY
) -> list[Event]:
    request_id = str(time.perf_counter_ns())
    events = core.submit(
        GenerationRequest(request_id, time.perf_counter_ns(), params, messages=messages)
    )
    while core.has_work:
        events += core.step()
    return events


def _tokens(events: list[Event], request_id: str | None = None) -> list[int]:
    return [
        token
        for event in events
        if isinstance(event, TokensProduced) and request_id in {None, event.request_id}
        for token in event.token_ids
    ]


def _user(text: str) -> tuple[Message, ...]:
    return (Message("user", text),)


@pytest.mark.parametrize("params", [GREEDY, SEEDED], ids=["greedy", "seeded"])
def test_together_and_alone(core: EngineCore, params: SamplingParams) -> None:
    alone = [_tokens(_ask(core, _user(question), params)) for question in QUESTIONS]
    events: list[Event] = []
    for question in QUESTIONS:
        core.submit(GenerationRequest(question, 0, params, messages=_user(question)))
    while core.has_work:
        events += core.step()
    assert [_tokens(events, question) for question in QUESTIONS] == alone


def test_the_second_turn_starts_from_the_first(core: EngineCore, starter_model: Path) -> None:
    first = _ask(core, _user(QUESTIONS[0]))
    answer = "".join(e.text for e in first if isinstance(e, TokensProduced))
    history = (*_user(QUESTIONS[0]), Message("assistant", answer), *_user("And of Italy?"))
    second = _ask(core, history)
    (finished,) = (e for e in second if isinstance(e, Finished))
    assert finished.timeline is not None
    assert finished.timeline.num_cached_tokens >= 32
    plain = _load(starter_model, kv_cache=False)
    assert _tokens(_ask(plain, history)) == _tokens(second)
    plain.unload()


def test_stop_keeps_what_was_said(core: EngineCore) -> None:
    core.submit(GenerationRequest("stopped", 0, GREEDY, messages=_user(QUESTIONS[2])))
    events: list[Event] = []
    while len(_tokens(events)) < 3:
        events += core.step()
    assert core.step(lambda: True) == []
    events += core.cancel("stopped")
    assert isinstance(events[-1], Finished)
    assert events[-1].reason is FinishReason.CANCELLED
    assert "".join(e.text for e in events if isinstance(e, TokensProduced))
    assert core.stats().kv_live_blocks == 0
