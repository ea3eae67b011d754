"""The engine's thread from outside: commands in, events out, and a clean end."""

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from engine.api import (
    AnswerExplained,
    CacheMapped,
    CacheRestored,
    CacheSaved,
    Cancel,
    CancelInspection,
    CountTokens,
    EngineStats,
    Event,
    Finished,
    FinishReason,
    GenerationRequest,
    InspectTokens,
    LoadModel,
    LoadProgress,
    MapCache,
    Message,
    ModelFailed,
    ModelOptions,
    ModelProfiled,
    ModelReady,
    ModelUnloaded,
    Prioritise,
    ProfileModel,
    PromptTokenized,
    RequestFailed,
    RestoreCache,
    SamplingParams,
    SaveCache,
    Submit,
    TokensCounted,
    TokensInspected,
    TokensProduced,
    UnloadModel,
)
from engine.core import EngineCore
from engine.errors import LoadCancelledError, ModelMissingError
from engine.scheduling.plan import StepPlan
from engine.service import EngineService
from tests.helpers.fake_model import EOS, FakeModels, letter
from tests.helpers.logfail import LogFail
from tests.helpers.scheduling import make_config

E = TypeVar("E")
PATIENCE_S = 60
LOAD = LoadModel(ModelOptions("fake.gguf"))


class Engine:
    """A service over fake models, and the events it sent."""

    def __init__(self, models: FakeModels) -> None:
        self.models = models
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.seen: list[Event] = []
        self.service = EngineService(self.events.put, models.make_core)

    def start(self, *, load: bool = True) -> None:
        self.service.start()
        if load:
            self.service.post(LOAD)
            self.wait_for(ModelReady)

    def submit(self, request_id: str, prompt: str = "abc", **params: object) -> None:
        self.service.post(
            Submit(
                GenerationRequest(
                    request_id, time.perf_counter_ns(), SamplingParams(**params), prompt=prompt
                )
            )
        )

    def wait_for(self, kind: type[E], check: Callable[[E], bool] = bool) -> E:
        while True:
            event = self.events.get(timeout=PATIENCE_S)
            self.seen.append(event)
            if isinstance(event, kind) and check(event):
                return event

    def finish(self, request_id: str) -> Finished:
        return self.wait_for(Finished, lambda e: e.request_id == request_id)

    def close(self) -> list[Event]:
        assert self.service.close(PATIENCE_S)
        while not self.events.empty():
            self.seen.append(self.events.get())
        return self.seen


@pytest.fixture
def models() -> FakeModels:
    return FakeModels()


@pytest.fixture
def engine(models: FakeModels) -> Iterator[Engine]:
    engine = Engine(models)
    yield engine
    if engine.service._thread.ident is not None:
        assert engine.service.close(PATIENCE_S)


def test_start_and_close_leave_no_thread(engine: Engine) -> None:
    engine.start(load=False)
    assert any(thread.name == "engine" for thread in threading.enumerate())
    engine.close()
    assert not any(thread.name == "engine" for thread in threading.enumerate())


def test_close_before_start_and_twice(models: FakeModels) -> None:
    service = EngineService(lambda _event: None, models.make_core)
    assert service.close(0)
    assert service.close(0)


def test_importing_the_service_loads_no_torch() -> None:
    code = "import engine.service, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_answer_in_order(engine: Engine, models: FakeModels) -> None:
    models.scripts = {"a": [*map(letter, "Hello"), EOS]}
    engine.start()
    engine.submit("a")
    engine.finish("a")
    kinds = [type(e) for e in engine.seen if not isinstance(e, EngineStats)]
    assert kinds[: kinds.index(ModelReady)] == [LoadProgress, LoadProgress]
    assert kinds.index(PromptTokenized) < kinds.index(TokensProduced)
    assert kinds[-1] is Finished
    assert "".join(e.text for e in engine.seen if isinstance(e, TokensProduced)) == "Hello"


def test_events_agree_with_an_outside_clock(engine: Engine) -> None:
    engine.start()
    before = time.perf_counter_ns()
    engine.submit("a", max_tokens=5, ignore_eos=True)
    arrivals: list[int] = []
    times: list[int] = []
    while len(times) < 5:
        produced = engine.wait_for(TokensProduced)
        arrivals.append(time.perf_counter_ns())
        times += produced.times_ns
    timeline = engine.finish("a").timeline
    after = time.perf_counter_ns()
    assert timeline is not None
    marks = (
        before,
        timeline.sent_ns,
        timeline.tokenize_start_ns,
        timeline.tokenize_end_ns,
        timeline.prefill_start_ns,
        timeline.prefill_end_ns,
        timeline.first_token_ns,
        timeline.last_token_ns,
        after,
    )
    assert list(marks) == sorted(marks)
    assert times == sorted(times)
    assert all(made <= came for made, came in zip(times, arrivals, strict=True))
    assert 0 < timeline.ttft_ns <= arrivals[0] - before
    assert (
        timeline.last_token_ns - timeline.first_token_ns <= arrivals[-1] - timeline.first_token_ns
    )


def test_cancel_cuts_a_running_pass_short(engine: Engine, models: FakeModels) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def before(_plan: StepPlan) -> None:
        entered.set()
        assert go_on.wait(PATIENCE_S)

    models.before = before
    engine.start()
    engine.submit("a")
    assert entered.wait(PATIENCE_S)
    engine.service.cancel("a")
    go_on.set()
    finished = engine.finish("a")
    assert (finished.reason, finished.timeline) == (FinishReason.CANCELLED, None)
    assert models.runner is not None
    assert len(models.runner.plans) == 1


def test_cancel_leaves_the_other_answers_alone(engine: Engine, models: FakeModels) -> None:
    models.config = make_config(num_blocks=64, context_length=40)
    models.scripts = {"a": [letter("x")] * 99, "b": [*map(letter, "Hello" * 4), EOS]}
    engine.start()
    engine.submit("a")
    engine.submit("b")
    engine.wait_for(TokensProduced)
    engine.service.post(Cancel("a"))
    ended = {engine.wait_for(Finished).request_id, engine.wait_for(Finished).request_id}
    assert ended == {"a", "b"}
    text = "".join(
        e.text for e in engine.seen if isinstance(e, TokensProduced) and e.request_id == "b"
    )
    assert text == "Hello" * 4


def test_cancelling_the_unknown_is_nothing(engine: Engine) -> None:
    engine.start()
    engine.service.cancel("nobody")
    engine.submit("a", max_tokens=2, ignore_eos=True)
    assert engine.finish("a").reason is FinishReason.MAX_TOKENS


def test_a_request_sent_while_loading_waits(engine: Engine, models: FakeModels) -> None:
    loading, go_on = threading.Event(), threading.Event()

    def on_load(_options: ModelOptions, _is_cancelled: Callable[[], bool]) -> None:
        loading.set()
        assert go_on.wait(PATIENCE_S)

    models.on_load = on_load
    engine.start(load=False)
    engine.service.post(LOAD)
    assert loading.wait(PATIENCE_S)
    engine.submit("a", max_tokens=1, ignore_eos=True)
    go_on.set()
    timeline = engine.finish("a").timeline
    assert timeline is not None
    assert timeline.load_wait_ns > 0
    assert timeline.queue_ns >= 0


def test_a_request_without_a_model_fails(engine: Engine) -> None:
    engine.start(load=False)
    engine.submit("a")
    assert engine.wait_for(RequestFailed).failure.code == "model_not_loaded"


def test_a_failed_load_fails_what_waited_for_it(engine: Engine, models: FakeModels) -> None:
    def on_load(options: ModelOptions, _is_cancelled: Callable[[], bool]) -> None:
        raise ModelMissingError("There is no such file.", path=options.path)

    models.on_load = on_load
    engine.service.post(LOAD)
    engine.submit("a")
    engine.start(load=False)
    failed = engine.wait_for(ModelFailed)
    assert (failed.failure.code, failed.kept) == ("model_missing", None)
    assert engine.wait_for(RequestFailed).failure.code == "model_not_loaded"


def _wait_until_cancelled(loading: threading.Event) -> Callable[..., None]:
    def on_load(options: ModelOptions, is_cancelled: Callable[[], bool]) -> None:
        loading.set()
        if options.path == LOAD.options.path:
            while not is_cancelled():
                threading.Event().wait(0.001)
            raise LoadCancelledError("Loading was given up.")

    return on_load


def test_another_model_supersedes_a_load_and_takes_its_requests(
    engine: Engine, models: FakeModels
) -> None:
    loading = threading.Event()
    models.on_load = _wait_until_cancelled(loading)
    engine.start(load=False)
    engine.service.post(LOAD)
    assert loading.wait(PATIENCE_S)
    engine.submit("a", max_tokens=1, ignore_eos=True)
    engine.service.post(LoadModel(ModelOptions("second.gguf")))
    assert engine.wait_for(ModelFailed).failure.code == "load_cancelled"
    assert engine.wait_for(ModelReady).info.path == "second.gguf"
    assert engine.finish("a").reason is FinishReason.MAX_TOKENS


def test_unload_cancels_a_load(engine: Engine, models: FakeModels) -> None:
    loading = threading.Event()
    models.on_load = _wait_until_cancelled(loading)
    engine.start(load=False)
    engine.service.post(LOAD)
    assert loading.wait(PATIENCE_S)
    engine.service.post(UnloadModel())
    assert engine.wait_for(ModelFailed).failure.code == "load_cancelled"
    engine.wait_for(ModelUnloaded)


def test_only_the_last_of_several_loads_runs(engine: Engine) -> None:
    for name in ("one", "two", "three"):
        engine.service.post(LoadModel(ModelOptions(name)))
    engine.start(load=False)
    assert engine.wait_for(ModelReady).info.path == "three"
    cancelled = [e.path for e in engine.seen if isinstance(e, ModelFailed)]
    assert cancelled == ["one", "two"]


def test_stop_reaches_a_request_that_waits_for_a_load(engine: Engine, models: FakeModels) -> None:
    loading = threading.Event()
    models.on_load = _wait_until_cancelled(loading)
    engine.start(load=False)
    engine.service.post(LOAD)
    assert loading.wait(PATIENCE_S)
    engine.submit("a")
    engine.service.cancel("a")
    assert engine.finish("a") == Finished("a", FinishReason.CANCELLED, None)
    engine.close()
    assert any(isinstance(e, ModelFailed) for e in engine.seen)


def test_close_ends_everything_that_is_open(engine: Engine, models: FakeModels) -> None:
    models.config = make_config(num_blocks=64, context_length=200, max_streams=1)
    models.scripts = {"a": [letter("x")] * 300}
    engine.start()
    engine.submit("a")
    engine.submit("b")
    engine.wait_for(TokensProduced)
    events = engine.close()
    reasons = {e.request_id: e.reason for e in events if isinstance(e, Finished)}
    assert set(reasons) == {"a", "b"}
    assert reasons["b"] is FinishReason.CANCELLED


def test_close_cuts_a_running_pass_short(engine: Engine, models: FakeModels) -> None:
    entered = threading.Event()
    service = engine.service

    def before(_plan: StepPlan) -> None:
        entered.set()
        assert service._is_closing.wait(PATIENCE_S)

    models.before = before
    engine.start()
    engine.submit("a")
    assert entered.wait(PATIENCE_S)
    reasons = [e.reason for e in engine.close() if isinstance(e, Finished)]
    assert reasons == [FinishReason.CANCELLED]


def test_requests_posted_before_a_close_are_answered(engine: Engine) -> None:
    engine.start()
    engine.submit("a", max_tokens=1)
    ended = [e for e in engine.close() if isinstance(e, Finished)]
    assert [e.request_id for e in ended] == ["a"]


def test_tokens_are_counted(engine: Engine) -> None:
    engine.start(load=False)
    engine.service.post(CountTokens(1, "abc"))
    assert engine.wait_for(TokensCounted) == TokensCounted(1, None)
    engine.service.post(LOAD)
    engine.service.post(CountTokens(2, "abc"))
    assert engine.wait_for(TokensCounted) == TokensCounted(2, 3)


def test_a_fault_fails_the_running_answers_and_the_engine_goes_on(
    engine: Engine, models: FakeModels, logfail: LogFail
) -> None:
    logfail.expect("fault in the engine loop")

    def before(plan: StepPlan) -> None:
        if any(chunk.request_id == "bad" for chunk in plan.chunks):
            raise ZeroDivisionError

    models.before = before
    engine.start()
    engine.submit("bad")
    failed = engine.wait_for(RequestFailed)
    assert (failed.request_id, failed.failure.code) == ("bad", "engine_fault")
    engine.submit("good", max_tokens=2, ignore_eos=True)
    assert engine.finish("good").reason is FinishReason.MAX_TOKENS


def test_a_fault_while_loading_is_a_failed_load(
    engine: Engine, models: FakeModels, logfail: LogFail
) -> None:
    logfail.expect("fault in the engine loop")

    def on_load(_options: ModelOptions, _is_cancelled: Callable[[], bool]) -> None:
        raise ZeroDivisionError

    models.on_load = on_load
    engine.start(load=False)
    engine.service.post(LOAD)
    assert engine.wait_for(ModelFailed).failure.code == "engine_fault"
    models.on_load = None
    engine.service.post(LOAD)
    engine.wait_for(ModelReady)


def test_an_engine_that_cannot_be_built_answers_each_command(
    models: FakeModels, logfail: LogFail
) -> None:
    logfail.expect("fault in the engine loop")
    tries = iter([ImportError("torch is broken"), ImportError("torch is broken")])

    def make_core() -> object:
        for error in tries:
            raise error
        return models.make_core()

    engine = Engine(models)
    engine.service = EngineService(engine.events.put, make_core)
    engine.start(load=False)
    engine.service.post(LOAD)
    assert engine.wait_for(ModelFailed).failure.code == "engine_fault"
    engine.submit("a")
    assert engine.wait_for(RequestFailed).failure.code == "engine_fault"
    engine.service.post(LOAD)
    engine.wait_for(ModelReady)
    engine.close()


def test_a_stop_that_an_unbuilt_engine_got_is_forgotten(
    models: FakeModels, logfail: LogFail
) -> None:
    logfail.expect("fault in the engine loop")
    tries = iter([ImportError("torch is broken")] * 2)

    def make_core() -> object:
        for error in tries:
            raise error
        return models.make_core()

    engine = Engine(models)
    engine.service = EngineService(engine.events.put, make_core)
    engine.submit("a")
    engine.service.cancel("a")
    engine.service.post(LOAD)
    engine.start(load=False)
    engine.wait_for(ModelReady)
    engine.submit("b", max_tokens=2, ignore_eos=True)
    assert engine.finish("b").reason is FinishReason.MAX_TOKENS
    engine.close()


def test_a_profile_ends_with_an_event_whatever_happens(engine: Engine, logfail: LogFail) -> None:
    engine.start(load=False)
    engine.service.post(ProfileModel(4, 10, 10))
    assert "No model" in engine.wait_for(ModelProfiled).problem
    engine.service.post(LOAD)
    engine.wait_for(ModelReady)
    logfail.expect("fault in the engine loop")  # the fake model computes nothing
    engine.service.post(ProfileModel(5, 10, 10))
    ended = engine.wait_for(ModelProfiled)
    assert (ended.ticket, ended.profile) == (5, None)
    engine.submit("a", max_tokens=2, ignore_eos=True)
    assert engine.finish("a").reason is FinishReason.MAX_TOKENS


def test_tokens_end_with_an_event_whatever_happens(engine: Engine, logfail: LogFail) -> None:
    engine.start(load=False)
    asked = InspectTokens(4, (Message("user", "ab"),), "ba")
    engine.service.post(asked)
    assert "No model" in engine.wait_for(TokensInspected).problem
    engine.service.post(LOAD)
    engine.wait_for(ModelReady)
    engine.service.post(CancelInspection(99))
    logfail.expect("fault in the engine loop")  # the fake model computes nothing
    engine.service.post(InspectTokens(5, asked.messages, "ba"))
    ended = engine.wait_for(TokensInspected)
    assert (ended.ticket, ended.tokens) == (5, ())
    assert ended.problem.endswith(".")
    engine.submit("a", max_tokens=2, ignore_eos=True)
    assert engine.finish("a").reason is FinishReason.MAX_TOKENS


def _until_quiet(engine: Engine) -> Iterator[Event]:
    try:
        while True:
            yield engine.events.get(timeout=0.3)
    except queue.Empty:
        return


def test_gauges_come_after_each_change_and_not_while_idle(engine: Engine) -> None:
    engine.start()
    engine.submit("a", max_tokens=3, ignore_eos=True)
    engine.finish("a")
    stats = engine.wait_for(EngineStats, lambda e: e.num_running == 0)
    assert stats.kv_live_blocks == 0
    later = list(_until_quiet(engine))  # an answer's report comes from the inspector's thread
    assert not [event for event in later if not isinstance(event, AnswerExplained)]


def test_a_fault_in_a_submit_fails_that_request_alone(
    engine: Engine, models: FakeModels, logfail: LogFail, monkeypatch: pytest.MonkeyPatch
) -> None:
    logfail.expect("fault in the engine loop")
    models.config = make_config(num_blocks=64, context_length=200)
    models.scripts = {"good": [letter("x")] * 300}
    submit = EngineCore.submit

    def break_bad(core: EngineCore, request: GenerationRequest) -> list[Event]:
        if request.request_id == "bad":
            raise ZeroDivisionError
        return submit(core, request)

    monkeypatch.setattr(EngineCore, "submit", break_bad)
    engine.start()
    engine.submit("good")
    engine.wait_for(TokensProduced)
    engine.submit("bad")
    assert engine.wait_for(RequestFailed).request_id == "bad"
    assert engine.finish("good").reason is FinishReason.CONTEXT_FULL
    assert [e.request_id for e in engine.seen if isinstance(e, RequestFailed)] == ["bad"]


def test_a_core_that_cannot_even_fail_is_given_up_and_the_thread_goes_on(
    engine: Engine, models: FakeModels, logfail: LogFail, monkeypatch: pytest.MonkeyPatch
) -> None:
    logfail.expect("fault in the engine loop")
    logfail.expect("fault while requests were ended")

    def broken(*_: object) -> list[Event]:
        raise ZeroDivisionError

    models.before = broken
    monkeypatch.setattr(EngineCore, "fail_all", broken)
    engine.start()
    engine.submit("a")
    engine.submit("b")
    engine.wait_for(ModelUnloaded)
    assert {engine.wait_for(RequestFailed).request_id for _ in "ab"} == {"a", "b"}
    models.before = None
    engine.service.post(LOAD)
    engine.wait_for(ModelReady)
    engine.submit("c", max_tokens=1)
    engine.finish("c")


def test_requests_end_at_the_close_though_the_core_fails(
    engine: Engine, models: FakeModels, logfail: LogFail, monkeypatch: pytest.MonkeyPatch
) -> None:
    logfail.expect("fault while requests were ended")
    models.config = make_config(num_blocks=64, context_length=200)
    models.scripts = {"a": [letter("x")] * 300}

    def broken(_core: EngineCore) -> list[Event]:
        raise ZeroDivisionError

    engine.start()
    engine.submit("a")
    engine.wait_for(TokensProduced)
    monkeypatch.setattr(EngineCore, "cancel_all", broken)
    ended = [e for e in engine.close() if isinstance(e, Finished)]
    assert [e.request_id for e in ended] == ["a"]


def test_priorities_prompts_and_caches_are_commands(engine: Engine) -> None:
    engine.start()
    engine.service.post(Prioritise("nobody", 3))
    engine.service.post(CountTokens(5, "abc", (Message("user", "abc"),)))
    assert engine.wait_for(TokensCounted) == TokensCounted(5, 3, 6)
    engine.service.post(SaveCache("1", "/nowhere/1.kv"))
    assert engine.wait_for(CacheSaved) == CacheSaved("1", 0, 0)
    engine.service.post(RestoreCache("1", "/nowhere/1.kv"))
    assert engine.wait_for(CacheRestored) == CacheRestored("1", 0)
    engine.service.post(MapCache(7, 5))
    mapped = engine.wait_for(CacheMapped)
    assert mapped.ticket == 7
    assert mapped.ways
    assert sum(run.count for group in mapped.groups for run in group.runs) == 16
