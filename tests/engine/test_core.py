"""One synchronous step after the other: requests, failures, and models that come and go."""

import time
from dataclasses import replace
from typing import Literal

import pytest

from engine.api import (
    BlockRun,
    BlockState,
    CacheMapped,
    CacheMiss,
    Event,
    Failure,
    Finished,
    FinishReason,
    GenerationRequest,
    Message,
    MissKind,
    ModelFailed,
    ModelOptions,
    ModelReady,
    ModelUnloaded,
    Overflow,
    PromptTokenized,
    RequestFailed,
    SamplingParams,
    TokensProduced,
)
from engine.core import EngineCore
from engine.errors import EngineError, ModelCorruptError, OutOfMemoryError
from engine.metrics import MemoryUse
from engine.model.batch import ForwardInterruptedError
from engine.scheduling.plan import StepPlan
from tests.helpers.fake_model import EOS, FakeModels, letter
from tests.helpers.fake_runner import expected_answer
from tests.helpers.scheduling import make_config

OPTIONS = ModelOptions("fake.gguf")


def _loaded(models: FakeModels) -> EngineCore:
    core = models.make_core()
    assert isinstance(core.load(OPTIONS)[-1], ModelReady)
    return core


def _request(request_id: str, prompt: str | None = "abc", **params: object) -> GenerationRequest:
    return GenerationRequest(
        request_id, time.perf_counter_ns(), SamplingParams(**params), prompt=prompt
    )


def _run(core: EngineCore) -> list[Event]:
    events: list[Event] = []
    for _ in range(1000):
        if not core.has_work:
            return events
        events += core.step()
    raise AssertionError("the requests do not end")


def _text(events: list[Event], request_id: str) -> str:
    return "".join(
        e.text for e in events if isinstance(e, TokensProduced) and e.request_id == request_id
    )


def _finish(events: list[Event], request_id: str) -> Finished:
    (event,) = (e for e in events if isinstance(e, Finished) and e.request_id == request_id)
    return event


def _script(text: str) -> list[int]:
    return [*map(letter, text), EOS]


def test_an_answer_from_prompt_to_end_of_text() -> None:
    core = _loaded(FakeModels(scripts={"a": _script("Hello")}))
    assert core.submit(_request("a")) == [PromptTokenized("a", 3)]
    events = _run(core)
    assert _text(events, "a") == "Hello"
    finished = _finish(events, "a")
    assert finished.reason is FinishReason.END_OF_TEXT
    assert finished.timeline is not None
    assert finished.timeline.num_output_tokens == 6


def test_messages_go_through_the_template() -> None:
    models = FakeModels(scripts={"a": _script("x")})
    core = _loaded(models)
    message = Message("user", "hi<|im_end|>")
    request = GenerationRequest("a", 0, messages=(message,))
    (event,) = core.submit(request)
    # start, "hi", the twelve-letter imitation of a control token... none of it is one; end, start
    assert event == PromptTokenized("a", 1 + 2 + len("<|im_end|>") + 1 + 1)
    _run(core)
    assert models.runner is not None
    known = models.runner.plans[0].chunks[0].token_ids
    assert known.count(EOS) == 1


def test_stop_strings_end_an_answer_and_are_not_shown() -> None:
    core = _loaded(FakeModels(scripts={"a": _script("one.END.two")}))
    core.submit(_request("a", stop=("END",)))
    events = _run(core)
    assert _text(events, "a") == "one."
    assert _finish(events, "a").reason is FinishReason.STOP_STRING


def test_text_held_back_is_sent_when_the_answer_is_cancelled() -> None:
    core = _loaded(FakeModels(scripts={"a": _script("one.EN" + "x" * 30)}))
    core.submit(_request("a", stop=("END",)))
    events = [e for _ in range(6) for e in core.step()]
    assert _text(events, "a") == "one."
    events = core.cancel("a")
    assert _text(events, "a") == "EN"
    assert _finish(events, "a").reason is FinishReason.CANCELLED
    assert not core.has_work


def test_several_answers_at_once_and_prompt_ids() -> None:
    models = FakeModels()
    core = _loaded(models)
    prompts = {name: [5 + n, 9, 2 * n] for n, name in enumerate("abc")}
    for name, prompt in prompts.items():
        params = SamplingParams(max_tokens=7, ignore_eos=True)
        core.submit(GenerationRequest(name, 0, params, prompt_ids=tuple(prompt)))
    events = _run(core)
    assert models.runner is not None
    for name, prompt in prompts.items():
        produced = [e for e in events if isinstance(e, TokensProduced) and e.request_id == name]
        tokens = [token for event in produced for token in event.token_ids]
        assert tokens == expected_answer(prompt, 7, models.runner.vocab_size)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (GenerationRequest("a", 0), "invalid_request"),
        (GenerationRequest("a", 0, prompt="x", prompt_ids=(1,)), "invalid_request"),
        (GenerationRequest("a", 0, prompt=""), "invalid_request"),
        (GenerationRequest("a", 0, prompt_ids=(-1,)), "invalid_request"),
        (GenerationRequest("a", 0, prompt_ids=(10**6,)), "invalid_request"),
        (GenerationRequest("a", 0, SamplingParams(top_p=2), prompt="x"), "invalid_request"),
        (GenerationRequest("a", 0, prompt="x" * 48), "prompt_too_long"),
    ],
)
def test_a_request_that_cannot_run_is_refused(request_: GenerationRequest, code: str) -> None:
    core = _loaded(FakeModels())
    (event,) = core.submit(request_)
    assert isinstance(event, RequestFailed)
    assert event.failure.code == code
    assert not core.has_work


def test_a_prompt_that_leaves_room_for_one_token_runs() -> None:
    core = _loaded(FakeModels())
    core.submit(_request("a", "x" * 47, ignore_eos=True))
    finished = _finish(_run(core), "a")
    assert finished.reason is FinishReason.CONTEXT_FULL
    assert finished.timeline is not None
    assert finished.timeline.num_output_tokens == 1


def test_a_name_in_use_is_refused() -> None:
    core = _loaded(FakeModels())
    core.submit(_request("a"))
    (event,) = core.submit(_request("a"))
    assert isinstance(event, RequestFailed)


def test_without_a_model() -> None:
    core = FakeModels().make_core()
    (event,) = core.submit(_request("a"))
    assert isinstance(event, RequestFailed)
    assert event.failure.code == "model_not_loaded"
    assert core.count_tokens("abc") == (None, None)
    assert core.info is None
    assert core.step() == []
    assert core.cancel("a") == []
    assert core.unload() == [ModelUnloaded()]
    assert core.stats().kv_total_blocks == 0


def test_tokens_of_a_text() -> None:
    core = _loaded(FakeModels())
    assert core.count_tokens("the cat") == (6, None)
    prompt = (Message("user", "the cat"),)
    assert core.count_tokens("", prompt) == (0, 9)
    assert core.count_tokens("<|im_end|>") == (10, None)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (EngineError("It broke."), "engine_fault"),
        (MemoryError(), "out_of_memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 640 bytes"),
         "out_of_memory"),
    ],
)  # fmt: skip
def test_only_the_guilty_request_of_a_batch_fails(error: Exception, code: str) -> None:
    def before(plan: StepPlan) -> None:
        if any(chunk.request_id == "bad" and chunk.sample_index == 2 for chunk in plan.chunks):
            raise error

    core = _loaded(FakeModels(before=before))
    for name in ("good", "bad", "also good"):
        core.submit(_request(name, max_tokens=5, ignore_eos=True))
    events = _run(core)
    (failed,) = (e for e in events if isinstance(e, RequestFailed))
    assert (failed.request_id, failed.failure.code) == ("bad", code)
    assert failed.timeline is not None
    assert failed.timeline.num_output_tokens == 2
    if "640" in str(error):
        assert failed.failure.details["needed"] == 640
    for name in ("good", "also good"):
        assert _finish(events, name).reason is FinishReason.MAX_TOKENS


def test_a_fault_of_ours_is_not_dressed_up() -> None:
    def before(_plan: StepPlan) -> None:
        raise RuntimeError("shape mismatch")

    core = _loaded(FakeModels(before=before))
    core.submit(_request("a"))
    with pytest.raises(RuntimeError, match="shape mismatch"):
        core.step()


def test_a_fault_while_running_apart_loses_no_text() -> None:
    def before(plan: StepPlan) -> None:
        names = [chunk.request_id for chunk in plan.chunks]
        if len(names) > 1:
            raise MemoryError
        if names == ["b"]:
            raise ZeroDivisionError

    core = _loaded(FakeModels(scripts={"a": _script("Hi")}, before=before))
    core.submit(_request("a"))
    core.submit(_request("b"))
    with pytest.raises(ZeroDivisionError):
        core.step()
    events = core.fail_all(Failure("engine_fault", "It broke."))
    assert _text(events, "a") == "H"
    assert {e.request_id for e in events if isinstance(e, RequestFailed)} == {"a", "b"}


def test_an_interrupted_step_did_not_happen() -> None:
    models = FakeModels(scripts={"a": _script("Hello")})
    core = _loaded(models)
    core.submit(_request("a"))
    assert core.step(lambda: True) == []
    assert core.has_work
    assert _text(_run(core), "a") == "Hello"


def test_a_failed_load_keeps_the_present_model_and_its_answers() -> None:
    models = FakeModels(scripts={"a": _script("Hello")})
    core = _loaded(models)
    core.submit(_request("a"))
    events = core.step()

    def fail(options: ModelOptions, _is_cancelled: object) -> None:
        raise ModelCorruptError("The file is damaged.", path=options.path, reason="test")

    models.on_load = fail
    (failed,) = core.load(ModelOptions("bad.gguf"))
    assert isinstance(failed, ModelFailed)
    assert (failed.path, failed.failure.code) == ("bad.gguf", "model_corrupt")
    assert failed.kept == core.info
    assert _text(events + _run(core), "a") == "Hello"


def test_a_new_model_ends_the_answers_of_the_old_one() -> None:
    core = _loaded(FakeModels())
    core.submit(_request("a"))
    core.step()
    events = core.load(ModelOptions("other.gguf"))
    assert _finish(events, "a").reason is FinishReason.CANCELLED
    assert isinstance(events[-1], ModelReady)
    assert events[-1].info == core.info
    assert not core.has_work


@pytest.mark.parametrize(("available", "is_kept"), [(10**9, True), (100, False)])
def test_the_old_model_goes_first_where_memory_is_scarce(
    available: int, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = FakeModels()
    core = _loaded(models)
    monkeypatch.setattr(core._memory, "read", lambda: MemoryUse(1, 1, 10**9, available))
    kept: list[bool] = []
    models.on_load = lambda _options, _is_cancelled: kept.append(core.info is not None)
    assert isinstance(core.load(ModelOptions("other.gguf"))[-1], ModelReady)
    assert kept == [is_kept]


def test_a_load_that_runs_out_of_memory_is_tried_again_without_the_old_model() -> None:
    models = FakeModels()
    core = _loaded(models)
    kept: list[bool] = []

    def on_load(_options: ModelOptions, _is_cancelled: object) -> None:
        kept.append(core.info is not None)
        if core.info is not None:
            raise OutOfMemoryError("It does not fit.", needed=2, available=1)

    models.on_load = on_load
    assert isinstance(core.load(ModelOptions("other.gguf"))[-1], ModelReady)
    assert kept == [True, False]


def test_answers_that_go_before_the_new_model_comes_end_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    models = FakeModels()
    core = _loaded(models)
    core.submit(_request("a"))
    core.step()
    monkeypatch.setattr(core._memory, "read", lambda: MemoryUse(1, 1, 10**9, 100))
    told: list[Event] = []

    def break_down(_options: ModelOptions, _is_cancelled: object) -> None:
        assert _finish(told, "a").reason is FinishReason.CANCELLED
        raise ZeroDivisionError

    models.on_load = break_down
    with pytest.raises(ZeroDivisionError):
        core.load(ModelOptions("other.gguf"), told.append)


def test_a_load_given_up_in_its_warm_up_is_cancelled() -> None:
    def interrupt(_options: ModelOptions, _is_cancelled: object) -> None:
        raise ForwardInterruptedError

    core = FakeModels(on_load=interrupt).make_core()
    (failed,) = core.load(OPTIONS)
    assert isinstance(failed, ModelFailed)
    assert failed.failure.code == "load_cancelled"


def test_the_map_of_the_cache_follows_the_work() -> None:
    core = FakeModels().make_core()
    assert core.map_cache(1, 5) == CacheMapped(1, ())
    core = _loaded(FakeModels())
    core.submit(replace(_request("a", "abcde"), conversation_id="7"))
    core.step()
    mapped = core.map_cache(2, 0)
    (group,) = mapped.groups
    assert (mapped.ticket, group.kind, group.window) == (2, "full", None)
    assert group.runs[0] == BlockRun(2, BlockState.LIVE, ("7",), 0)
    core.cancel("a")
    assert core.map_cache(3, 0).groups[0].runs[0] == BlockRun(1, BlockState.KEPT, ("7",), 0)


def test_unload_gives_everything_back() -> None:
    core = _loaded(FakeModels())
    core.submit(_request("a"))
    core.step()
    assert core.stats().kv_live_blocks == 1
    events = core.unload()
    assert _finish(events, "a").reason is FinishReason.CANCELLED
    assert events[-1] == ModelUnloaded()
    assert core.stats().weights_bytes == 0


def test_waiting_for_a_load_is_told_apart_from_the_queue() -> None:
    models = FakeModels()
    core = models.make_core()
    sent: list[int] = []
    models.on_load = lambda _options, _is_cancelled: sent.append(time.perf_counter_ns())
    core.load(OPTIONS)
    loaded = time.perf_counter_ns()
    core.submit(GenerationRequest("a", sent[0], SamplingParams(max_tokens=1), prompt="abc"))
    timeline = _finish(_run(core), "a").timeline
    assert timeline is not None
    assert 0 < timeline.load_wait_ns <= loaded - sent[0]
    assert timeline.load_wait_ns <= timeline.tokenize_start_ns - timeline.sent_ns
    assert timeline.queue_ns >= 0


def test_starting_the_engine_counts_as_loading() -> None:
    models = FakeModels()
    sent = time.perf_counter_ns()
    core = EngineCore(models.load, models.make_runner, starting_ns=sent)
    started = time.perf_counter_ns()
    core.load(OPTIONS)
    core.submit(GenerationRequest("a", sent, SamplingParams(max_tokens=1), prompt="abc"))
    timeline = _finish(_run(core), "a").timeline
    assert timeline is not None
    assert timeline.queue_ns < timeline.tokenize_start_ns - started


def test_gauges_follow_the_work() -> None:
    core = _loaded(FakeModels())
    core.submit(_request("a", "abcde", max_tokens=1, ignore_eos=True))
    core.submit(_request("b", "xyz", ignore_eos=True))
    assert (core.stats().num_waiting, core.stats().num_running) == (2, 0)
    core.step()
    stats = core.stats()
    assert (stats.num_waiting, stats.num_running) == (0, 1)
    assert (stats.kv_live_tokens, stats.kv_live_blocks, stats.kv_cached_blocks) == (3, 1, 1)
    assert stats.kv_total_blocks == 16
    assert stats.kv_block_bytes * 16 == stats.kv_allocated_bytes
    assert stats.weights_bytes == 10
    assert stats.process_bytes > 0
    assert 0 < stats.runtime_bytes < stats.total_memory_bytes
    assert stats.gpu is None


def test_without_a_cache_the_answer_is_the_same() -> None:
    texts = []
    for kv_cache in (True, False):
        core = _loaded(FakeModels(config=make_config(kv_cache=kv_cache)))
        core.submit(_request("a", max_tokens=9, ignore_eos=True))
        texts.append(_text(_run(core), "a"))
    assert texts[0] == texts[1]


def _chat(turns: int) -> tuple[Message, ...]:
    pairs = [Message(role, f"{role[0]}{turn:03d}") for turn in range(turns) for role in _ROLES]
    return (*pairs, Message("user", "last"))


_ROLES: tuple[Literal["user", "assistant"], ...] = ("user", "assistant")


@pytest.mark.parametrize("overflow", [Overflow.DROP_OLDEST, Overflow.KEEP_ENDS])
def test_a_conversation_that_outgrew_the_context_says_what_was_left_out(
    overflow: Overflow,
) -> None:
    models = FakeModels(scripts={"a": _script("x")})
    core = _loaded(models)
    messages = _chat(9)
    (event,) = core.submit(GenerationRequest("a", 0, messages=messages, overflow=overflow))
    assert isinstance(event, PromptTokenized)
    left_out = event.left_out
    assert left_out is not None
    kept = (*messages[: left_out.first], *messages[left_out.first + left_out.num_messages :])
    assert core.count_tokens("", kept) == (0, event.num_prompt_tokens)
    whole = core.count_tokens("", messages)[1]
    assert whole == event.num_prompt_tokens + left_out.num_tokens
    timeline = _finish(_run(core), "a").timeline
    assert timeline is not None
    assert timeline.left_out == left_out


def test_a_conversation_that_outgrew_the_context_is_refused_by_default() -> None:
    core = _loaded(FakeModels())
    (event,) = core.submit(GenerationRequest("a", 0, messages=_chat(9)))
    assert isinstance(event, RequestFailed)
    assert event.failure.code == "prompt_too_long"
    needed, limit = event.failure.details["needed"], event.failure.details["limit"]
    assert (needed, limit) == (core.count_tokens("", _chat(9))[1], 47)


def test_a_prompt_that_just_fits_is_taken() -> None:
    core = _loaded(FakeModels(scripts={"a": [letter("x")] * 3}))
    (event,) = core.submit(_request("a", "x" * 47))
    assert event == PromptTokenized("a", 47)
    assert _finish(_run(core), "a").reason is FinishReason.CONTEXT_FULL
    (event,) = core.submit(_request("b", "x" * 48))
    assert isinstance(event, RequestFailed)


def test_answers_tell_why_their_prompt_was_not_cached_across_loads() -> None:
    models = FakeModels()
    core = models.make_core()

    def ask(request_id: str, prompt: str) -> CacheMiss | None:
        core.submit(
            GenerationRequest(
                request_id,
                0,
                SamplingParams(max_tokens=2, ignore_eos=True),
                prompt=prompt,
                conversation_id="chat",
            )
        )
        timeline = _finish(_run(core), request_id).timeline
        assert timeline is not None
        return timeline.cache_miss

    core.load(OPTIONS)
    assert ask("1", "x" * 20) == CacheMiss(MissKind.FIRST_TURN, 0, 19)
    assert ask("2", "x" * 20 + "yz") is None
    core.load(OPTIONS)
    assert ask("3", "x" * 20 + "yz") == CacheMiss(MissKind.RELOADED, 0, 21)
    core.load(ModelOptions("other.gguf"))
    assert ask("4", "x" * 20 + "yz") == CacheMiss(MissKind.MODEL_CHANGED, 0, 21)
    models.config = make_config(prefix_cache=False)
    core.load(OPTIONS)
    assert ask("5", "x" * 20) == CacheMiss(MissKind.CACHE_OFF, 0, 20)


def test_the_budget_of_cached_blocks_comes_with_the_options() -> None:
    core = FakeModels().make_core()
    block_bytes = make_config().kv.bytes_per_block
    core.load(ModelOptions("fake.gguf", prefix_cache_bytes=2 * block_bytes + 1))
    core.submit(_request("a", "x" * 30, max_tokens=1, ignore_eos=True))
    _run(core)
    assert core.stats().kv_cached_blocks == 2


def test_thirty_two_requests_at_once_complete() -> None:
    config = make_config(num_blocks=24, context_length=48, max_streams=32)
    core = _loaded(FakeModels(config=config))
    prompts = {str(n): [5 + n, 9, 2 * n % 60] for n in range(32)}
    params = SamplingParams(max_tokens=20, ignore_eos=True)
    for name, ids in prompts.items():
        core.submit(GenerationRequest(name, 0, params, prompt_ids=tuple(ids)))
    events = _run(core)
    vocab_size = core.info.vocab_size if core.info is not None else 0
    for name, ids in prompts.items():
        produced = [
            t
            for e in events
            if isinstance(e, TokensProduced)
            for t in e.token_ids
            if e.request_id == name
        ]
        assert produced == expected_answer(ids, 20, vocab_size)
    assert core.stats().kv_live_blocks == 0
