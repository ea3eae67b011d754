"""Situations made on the real starter model; proportions decide, never a time of this machine."""

import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch

from engine.api import (
    DiagnosisKind,
    GenerationRequest,
    MissKind,
    ModelOptions,
    ModelReady,
    SamplingParams,
    Timeline,
)
from engine.api.stages import stages_of, total_ns
from engine.core import EngineCore
from engine.diagnosis.observation import MachineState
from engine.diagnosis.verdict import diagnose
from engine.runner import Runner
from engine.sampling.sampler import Sampler, SamplingRow
from engine.tracing.costs import ModelCosts
from engine.tracing.recorder import Recorder
from engine.tracing.report import Circumstances, observe

pytestmark = pytest.mark.flow

# what other programs do to the machine that runs the tests is not what is tested here
UNWATCHED = MachineState(cores=2, threads=2)
STREAMS = 2


class HeldUpSampler:
    """Chooses tokens, ``factor`` times as late as the step took so far."""

    def __init__(self) -> None:
        self.factor = 0.0
        self._sampler = Sampler()
        self._last_ns = 0

    def sample(self, logits: torch.Tensor, rows: Sequence[SamplingRow]) -> list[int]:
        now = time.perf_counter_ns()
        until = now + self.factor * (now - self._last_ns) if self._last_ns else now
        while time.perf_counter_ns() < until:
            pass
        chosen = self._sampler.sample(logits, rows)
        self._last_ns = time.perf_counter_ns() if self.factor else 0
        return chosen


class Situation:
    """The starter model, whatever is recorded of it, and a sampler that can be held up."""

    def __init__(self, path: Path, *, prefix_cache_bytes: int | None = None) -> None:
        self.sampler = HeldUpSampler()
        self.recorder = Recorder()
        self.core = EngineCore(
            make_runner=lambda model: Runner(model.decoder, model.storage, self.sampler).run
        )
        options = ModelOptions(
            str(path),
            context_length=6_000,
            max_streams=STREAMS,
            prefix_cache_bytes=prefix_cache_bytes,
        )
        assert isinstance(self.core.load(options)[-1], ModelReady)

    def ask(self, name: str, prompt: Sequence[int], new: int, chat: str | None = None) -> None:
        params = SamplingParams(temperature=0.0, max_tokens=new, ignore_eos=True)
        request = GenerationRequest(
            name,
            time.perf_counter_ns(),
            params,
            prompt_ids=tuple(prompt),
            conversation_id=chat,
        )
        self.recorder.take(self.core.submit(request))

    def finish(self) -> None:
        while self.core.has_work:
            self.recorder.take(self.core.step())

    def line(self, name: str) -> Timeline:
        trace = self.recorder.trace(name)
        assert trace is not None
        assert trace.timeline is not None
        return trace.timeline

    def kind(self, name: str) -> DiagnosisKind:
        trace, info = self.recorder.trace(name), self.core.info
        assert trace is not None
        assert info is not None
        around = Circumstances(UNWATCHED, max_streams=STREAMS)
        seen = observe(trace, self.line(name), info, ModelCosts(info, None), around)
        return diagnose(seen).kind


@pytest.fixture(scope="module")
def _kept(starter_model: Path) -> Situation:
    return Situation(starter_model)


@pytest.fixture
def situation(_kept: Situation) -> Iterator[Situation]:
    _kept.sampler.factor = 0.0
    yield _kept
    _kept.core.cancel_all()


def _ids(seed: int, length: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(100, 40_000) for _ in range(length)]


def test_a_long_prompt_and_a_short_answer(situation: Situation) -> None:
    situation.ask("long", _ids(1, 4_000), 8)
    situation.finish()
    assert situation.kind("long") is DiagnosisKind.PREFILL_BOUND
    line = situation.line("long")
    assert sum(stage.duration_ns for stage in stages_of(line)) == total_ns(line)
    trace = situation.recorder.trace("long")
    assert trace is not None
    assert sum(chunk.num_tokens for chunk in trace.chunks) == 4_000
    assert line.prefill_forward_ns is not None
    assert 0 < line.prefill_forward_ns <= line.prefill_ns


def test_thirty_streams_two_at_once(situation: Situation) -> None:
    for number in range(30):
        situation.ask(f"stream {number}", _ids(100 + number, 8), 8)
    situation.finish()
    assert situation.kind("stream 29") is DiagnosisKind.QUEUE_BOUND
    assert situation.line("stream 0").queue_ns < situation.line("stream 29").queue_ns


def test_a_delay_around_the_sampler(situation: Situation) -> None:
    situation.sampler.factor = 2.0  # two thirds of each step
    situation.ask("held up", _ids(2, 8), 24)
    situation.finish()
    assert situation.kind("held up") is DiagnosisKind.HOST_BOUND
    line = situation.line("held up")
    assert line.decode_host_ns is not None
    assert line.decode_sample_ns <= line.decode_host_ns <= line.decode_ns


def test_without_the_delay_the_host_holds_nothing_up(situation: Situation) -> None:
    situation.ask("plain", _ids(2, 8), 24)
    situation.finish()
    assert situation.kind("plain") is not DiagnosisKind.HOST_BOUND


def test_a_second_turn_that_finds_its_first(situation: Situation) -> None:
    first = _ids(3, 400)
    situation.ask("turn 1", first, 4, "chat")
    situation.finish()
    situation.ask("turn 2", [*first, *_ids(4, 16)], 4, "chat")
    situation.finish()
    assert situation.line("turn 2").num_cached_tokens >= 390
    assert situation.kind("turn 2") is not DiagnosisKind.CACHE_MISS


def test_a_cache_cleared_between_turns(starter_model: Path) -> None:
    forgetful = Situation(starter_model, prefix_cache_bytes=0)
    first = _ids(3, 400)
    forgetful.ask("turn 1", first, 4, "chat")
    forgetful.finish()
    assert forgetful.kind("turn 1") is DiagnosisKind.PREFILL_BOUND
    forgetful.ask("turn 2", [*first, *_ids(4, 16)], 4, "chat")
    forgetful.finish()
    miss = forgetful.line("turn 2").cache_miss
    assert miss is not None
    assert miss.kind is MissKind.EVICTED
    assert forgetful.kind("turn 2") is DiagnosisKind.CACHE_MISS
