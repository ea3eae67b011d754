"""What each step computes, in tiny configurations with exact expectations."""

import random

import pytest

from engine.api import (
    CacheMiss,
    Failure,
    Finished,
    FinishReason,
    MissKind,
    PrefillProgress,
    RequestFailed,
    TokensProduced,
)
from engine.errors import EngineError
from engine.scheduling.order import PATIENCE
from engine.scheduling.plan import StepOutput, StepPlan
from tests.helpers.fake_runner import FakeText, expected_answer
from tests.helpers.scheduling import Bench, make_config

VOCAB = 89


def _shape(plan: StepPlan) -> list[tuple[str, int, int, int]]:
    return [(c.request_id, c.start, len(c.token_ids), c.num_logits) for c in plan.chunks]


def test_prefill_in_chunks_then_one_token_a_step() -> None:
    bench = Bench(make_config(max_batch_tokens=4))
    bench.add("a", range(10), max_tokens=3)
    bench.run()
    assert [_shape(plan) for plan in bench.runner.plans] == [
        [("a", 0, 4, 0)],
        [("a", 4, 4, 0)],
        [("a", 8, 2, 1)],
        [("a", 10, 1, 1)],
        [("a", 11, 1, 1)],
    ]
    assert bench.tokens("a") == expected_answer(range(10), 3, VOCAB)
    progress = [e for e in bench.events if isinstance(e, PrefillProgress)]
    assert [(e.computed, e.cached, e.total) for e in progress] == [
        (4, 0, 10),
        (8, 0, 10),
        (10, 0, 10),
    ]
    assert bench.reason("a") is FinishReason.MAX_TOKENS
    assert bench.kv.num_live_blocks == 0


def test_running_answers_come_before_prompts_and_prompts_share_the_rest() -> None:
    bench = Bench(make_config(max_batch_tokens=8))
    bench.add("a", range(3), max_tokens=4)
    bench.step()
    bench.add("b", range(5), max_tokens=1)
    bench.add("c", range(9), max_tokens=1)
    bench.run()
    assert [_shape(plan) for plan in bench.runner.plans[1:3]] == [
        [("a", 3, 1, 1), ("b", 0, 5, 1), ("c", 0, 2, 0)],
        [("a", 4, 1, 1), ("c", 2, 7, 1)],
    ]


def test_sample_index_counts_output_tokens() -> None:
    bench = Bench(make_config())
    bench.add("a", range(3), max_tokens=3)
    bench.run()
    assert [plan.chunks[0].sample_index for plan in bench.runner.plans] == [0, 1, 2]


def test_batched_answers_equal_single_ones() -> None:
    prompts = {str(n): [(n * 7 + i) % VOCAB for i in range(3 + 2 * n)] for n in range(4)}
    bench = Bench(make_config(num_blocks=32))
    for request_id, prompt in prompts.items():
        bench.add(request_id, prompt, max_tokens=9)
    bench.run()
    for request_id, prompt in prompts.items():
        assert bench.tokens(request_id) == expected_answer(prompt, 9, VOCAB)


def test_a_short_pool_preempts_the_youngest_and_everyone_still_answers() -> None:
    bench = Bench(make_config(num_blocks=6, prefix_cache=False))
    bench.add("old", range(4), max_tokens=12)
    bench.add("young", range(3, 7), max_tokens=12)
    bench.run()
    assert bench.tokens("old") == expected_answer(range(4), 12, VOCAB)
    assert bench.tokens("young") == expected_answer(range(3, 7), 12, VOCAB)
    chunks = [c for plan in bench.runner.plans for c in plan.chunks]
    assert [c.request_id for c in chunks if c.start == 0 and c.sample_index > 0] == ["young"]
    ended = [e.request_id for e in bench.events if isinstance(e, Finished)]
    assert ended == ["old", "young"]


def test_a_preempted_answer_finds_its_own_blocks_again() -> None:
    bench = Bench(make_config(num_blocks=6))
    bench.add("old", range(4), max_tokens=12)
    bench.add("young", range(3, 7), max_tokens=12)
    bench.run()
    assert bench.tokens("young") == expected_answer(range(3, 7), 12, VOCAB)
    assert bench.finished("young").timeline is not None
    assert bench.finished("young").timeline.num_cached_tokens == 0


def test_the_end_of_the_context_ends_the_answer() -> None:
    bench = Bench(make_config(context_length=12))
    bench.add("a", range(10))
    bench.run()
    assert bench.reason("a") is FinishReason.CONTEXT_FULL
    assert len(bench.tokens("a")) == 2


def test_a_pool_smaller_than_the_context_ends_the_answer_too() -> None:
    bench = Bench(make_config(num_blocks=3, context_length=48))
    assert bench.scheduler.limit == 12
    bench.add("a", range(10))
    bench.run()
    assert bench.reason("a") is FinishReason.CONTEXT_FULL
    assert bench.tokens("a") == expected_answer(range(10), 2, VOCAB)


def test_no_cache_computes_everything_for_each_token() -> None:
    bench = Bench(make_config(kv_cache=False, max_batch_tokens=4))
    bench.add("a", range(6), max_tokens=3)
    bench.run()
    assert [_shape(plan)[0] for plan in bench.runner.plans] == [
        ("a", 0, 4, 0),
        ("a", 4, 2, 1),
        ("a", 0, 4, 0),
        ("a", 4, 3, 1),
        ("a", 0, 4, 0),
        ("a", 4, 4, 1),
    ]
    assert bench.tokens("a") == expected_answer(range(6), 3, VOCAB)
    progress = [e for e in bench.events if isinstance(e, PrefillProgress)]
    assert [e.computed for e in progress] == [4, 6]


def test_the_second_turn_computes_only_what_is_new() -> None:
    bench = Bench(make_config())
    bench.add("turn 1", range(9), max_tokens=4)
    bench.run()
    history = [*range(9), *bench.tokens("turn 1")]
    bench.add("turn 2", [*history, 5, 6], max_tokens=2)
    bench.run()
    timeline = bench.finished("turn 2").timeline
    assert timeline is not None
    assert (timeline.num_prompt_tokens, timeline.num_cached_tokens) == (15, 12)
    assert bench.tokens("turn 2") == expected_answer([*history, 5, 6], 2, VOCAB)
    assert PrefillProgress("turn 2", 15, 12, 15) in bench.events


@pytest.mark.parametrize(("ignore_eos", "tokens"), [(False, [50]), (True, [50, 51, 52])])
def test_end_of_text(ignore_eos: bool, tokens: list[int]) -> None:
    bench = Bench(make_config(), eos_ids=frozenset({50}))
    bench.runner.scripts = {"a": [50, 51, 52]}
    bench.add("a", [1, 2], FakeText(held="!"), ignore_eos=ignore_eos, max_tokens=3)
    bench.run()
    assert bench.tokens("a") == tokens
    assert bench.text("a") == ("".join(map(chr, tokens)) if ignore_eos else "") + "!"
    expected = FinishReason.MAX_TOKENS if ignore_eos else FinishReason.END_OF_TEXT
    assert bench.reason("a") is expected


def test_a_stop_string_is_not_flushed() -> None:
    bench = Bench(make_config())
    bench.runner.scripts = {"a": [65, 66, 67]}
    bench.add("a", [1, 2], FakeText(stop_token=66, held="stop"), stop=("B",))
    bench.run()
    assert bench.text("a") == "A"
    assert bench.reason("a") is FinishReason.STOP_STRING


def test_max_streams_holds_the_rest_back() -> None:
    bench = Bench(make_config(max_streams=2))
    for request_id in "abc":
        bench.add(request_id, [1, 2], max_tokens=2)
    bench.step()
    assert (bench.scheduler.num_running, bench.scheduler.num_waiting) == (2, 1)
    bench.run()
    assert [e.request_id for e in bench.events if isinstance(e, Finished)] == ["a", "b", "c"]


def test_cancel_while_waiting_running_and_unknown() -> None:
    bench = Bench(make_config(max_streams=1))
    bench.runner.scripts = {"a": [65, 66, 67]}
    bench.add("a", [1, 2], FakeText(held="half"))
    bench.add("b", [1, 2])
    bench.step()
    assert bench.scheduler.cancel("x") == []
    assert bench.scheduler.cancel("b") == [Finished("b", FinishReason.CANCELLED, None)]
    text, finished = bench.scheduler.cancel("a")
    assert text == TokensProduced("a", "half", (), ())
    assert isinstance(finished, Finished)
    assert finished.timeline is not None
    assert finished.timeline.num_output_tokens == 1
    assert not bench.scheduler.has_work
    assert bench.kv.num_live_blocks == 0


def test_a_request_cancelled_during_its_step_takes_no_token() -> None:
    bench = Bench(make_config())
    bench.add("a", [1, 2])
    plan = bench.scheduler.schedule()
    bench.scheduler.cancel("a")
    assert bench.scheduler.update(plan, StepOutput({"a": (5,)}, 1, 2)) == []


def test_a_dropped_plan_is_simply_scheduled_again() -> None:
    bench = Bench(make_config())
    bench.add("a", range(10), max_tokens=3)
    first = bench.scheduler.schedule()
    assert bench.scheduler.update(StepPlan(()), StepOutput({}, 0, 0)) == []
    assert _shape(bench.scheduler.schedule()) == _shape(first)
    bench.run()
    assert bench.tokens("a") == expected_answer(range(10), 3, VOCAB)


def test_a_failed_request_leaves_the_others_alone() -> None:
    bench = Bench(make_config())
    bench.add("a", [1, 2], FakeText(held="half"), max_tokens=2)
    bench.add("b", [3, 4], max_tokens=2)
    failure = Failure.of(EngineError("It broke."))
    assert bench.scheduler.fail("x", failure) == []
    assert bench.scheduler.fail("a", failure) == [
        TokensProduced("a", "half", (), ()),
        RequestFailed("a", failure, None),
    ]
    bench.run()
    assert bench.tokens("b") == expected_answer([3, 4], 2, VOCAB)


def test_tokens_whose_cache_was_lost_again_do_not_count_as_cached() -> None:
    bench = Bench(make_config(num_blocks=10, block_size=2, context_length=20, max_batch_tokens=2))
    bench.add("first", [1] * 4, max_tokens=1)
    bench.run()
    bench.add("old", [2] * 2, max_tokens=17)
    bench.step()
    bench.add("young", [1] * 4 + [3] * 8, max_tokens=1)
    bench.step()
    assert bench.scheduler.num_running == 2
    bench.run()
    progress = [
        e for e in bench.events if isinstance(e, PrefillProgress) and e.request_id == "young"
    ]
    assert progress[0].cached == 4
    assert all(e.cached <= e.computed for e in progress)
    timeline = bench.finished("young").timeline
    assert timeline is not None
    assert timeline.num_cached_tokens == 0


def test_time_stamps_come_from_the_step_and_add_up() -> None:
    bench = Bench(make_config(max_batch_tokens=4))
    bench.add("a", range(6), max_tokens=3)
    before = bench.clock.now
    bench.run()
    timeline = bench.finished("a").timeline
    assert timeline is not None
    produced = [e for e in bench.events if isinstance(e, TokensProduced)]
    times = [time for event in produced for time in event.times_ns]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (timeline.first_token_ns, timeline.last_token_ns)
    assert [event.is_first for event in produced] == [True, False, False]
    first = produced[0].timeline
    assert first is not None
    assert (first.ttft_ns, first.num_output_tokens) == (timeline.ttft_ns, 1)
    assert [event.timeline for event in produced[1:]] == [None, None]
    assert before < timeline.prefill_start_ns < timeline.prefill_end_ns < times[0]
    parts = (
        timeline.queue_ns,
        timeline.load_wait_ns,
        timeline.tokenize_ns,
        timeline.prefill_ns,
        timeline.sample_ns,
    )
    assert min(parts) >= 0
    assert sum(parts) == timeline.ttft_ns


def _order_of_ends(bench: Bench) -> list[str]:
    return [e.request_id for e in bench.events if isinstance(e, Finished)]


def test_the_more_important_prompt_goes_first_and_takes_a_stream_if_need_be() -> None:
    bench = Bench(make_config(max_streams=1, num_blocks=32))
    bench.add("background", range(4), max_tokens=30)
    bench.step()
    bench.step()
    bench.add("equal", range(5), max_tokens=2)
    bench.add("seen", range(6), max_tokens=3, priority=1)
    bench.run()
    assert _order_of_ends(bench) == ["seen", "background", "equal"]
    assert bench.tokens("background") == expected_answer(range(4), 30, VOCAB)


def test_the_more_important_request_takes_the_blocks_of_others_only_if_that_is_enough() -> None:
    bench = Bench(make_config(num_blocks=6, max_streams=4))
    bench.add("one", range(4), max_tokens=9)
    bench.add("two", range(50, 54), max_tokens=9)
    bench.step()
    bench.add("seen", range(60, 74), max_tokens=1, priority=1)
    bench.run()
    assert _order_of_ends(bench)[0] == "seen"
    assert bench.tokens("one") == expected_answer(range(4), 9, VOCAB)
    assert bench.tokens("two") == expected_answer(range(50, 54), 9, VOCAB)


def test_a_priority_can_change_on_the_way() -> None:
    bench = Bench(make_config(max_streams=1))
    bench.add("a", range(4), max_tokens=3)
    bench.add("b", range(4), max_tokens=3)
    bench.add("c", range(4), max_tokens=3)
    bench.step()
    bench.scheduler.prioritise("c", 1)
    bench.scheduler.prioritise("gone", 1)
    bench.run()
    assert _order_of_ends(bench) == ["c", "a", "b"]


def test_a_stream_of_important_requests_starves_nobody() -> None:
    bench = Bench(make_config(max_streams=1, num_blocks=32))
    bench.add("poor", range(4), max_tokens=5)
    for number in range(PATIENCE):
        bench.add(str(number), range(4), max_tokens=2, priority=1)
        bench.step()
        bench.step()
        if "poor" in _order_of_ends(bench):
            break
    assert bench.tokens("poor") == expected_answer(range(4), 5, VOCAB)
    assert 400 < number < PATIENCE - 1


def test_a_short_question_is_answered_while_a_long_document_is_read() -> None:
    bench = Bench(make_config(num_blocks=400, context_length=1500, max_batch_tokens=64))
    bench.add("document", [n % VOCAB for n in range(1200)], max_tokens=1)
    bench.step()
    bench.add("question", range(20), max_tokens=3)
    bench.run()
    assert _order_of_ends(bench) == ["question", "document"]
    steps = [i for i, p in enumerate(bench.runner.plans) if _has(p, "question")]
    assert steps == [1, 2, 3]
    assert sum(len(c.token_ids) for c in bench.runner.plans[1].chunks) == 64


def _has(plan: StepPlan, request_id: str) -> bool:
    return any(chunk.request_id == request_id for chunk in plan.chunks)


def test_chunks_are_small_while_an_answer_streams() -> None:
    bench = Bench(make_config(num_blocks=400, context_length=1500, max_batch_tokens=512))
    bench.add("stream", range(4), max_tokens=60)
    bench.step()
    bench.add("document", [n % VOCAB for n in range(1200)], max_tokens=1)
    bench.run()
    reading = [p for p in bench.runner.plans if _has(p, "document")]
    assert all(_has(plan, "stream") for plan in reading)
    assert len(reading[0].chunks[1].token_ids) == 32


def test_a_branch_inside_a_block_computes_only_what_differs() -> None:
    bench = Bench(make_config(block_size=8), copies_tails=True)
    bench.add("first", range(30), conversation="chat", max_tokens=4)
    bench.run()
    branch = [*range(22), 80, 81, 82]
    bench.add("branch", branch, conversation="chat", max_tokens=4)
    bench.run()
    (chunk,) = next(p for p in bench.runner.plans if _has(p, "branch")).chunks
    assert (chunk.start, len(chunk.token_ids)) == (22, 3)
    assert chunk.copy is not None
    assert bench.tokens("branch") == expected_answer(branch, 4, VOCAB)
    timeline = bench.finished("branch").timeline
    assert timeline is not None
    assert timeline.num_cached_tokens == 22
    assert timeline.cache_miss is None  # two tokens that differ are less than a copy is worth


def test_a_copy_is_made_again_when_its_step_was_given_up() -> None:
    bench = Bench(make_config(block_size=8), copies_tails=True)
    bench.add("first", range(20), max_tokens=1)
    bench.run()
    bench.add("branch", [*range(13), 80, 81], max_tokens=3)
    plan = bench.scheduler.schedule()
    assert plan.chunks[0].copy is not None
    bench.scheduler.update(StepPlan(()), StepOutput({}, 0, 0))
    bench.run()
    assert bench.tokens("branch") == expected_answer([*range(13), 80, 81], 3, VOCAB)


def test_every_answer_says_what_came_from_the_cache_and_why_not_more() -> None:
    bench = Bench(make_config(num_blocks=12, context_length=40))

    def ask(request_id: str, prompt: list[int], conversation: str) -> CacheMiss | None:
        bench.add(request_id, prompt, conversation=conversation, max_tokens=2)
        bench.run()
        timeline = bench.finished(request_id).timeline
        assert timeline is not None
        return timeline.cache_miss

    first = list(range(20))
    assert ask("1", first, "chat") == CacheMiss(MissKind.FIRST_TURN, 0, 19)
    second = [*first, *bench.tokens("1"), 7, 7, 7]
    assert ask("2", second, "chat") is None
    edited = [*first[:9], 99, *second[10:]]
    assert ask("3", edited, "chat") == CacheMiss(MissKind.TEXT_CHANGED, 9, 15)
    assert ask("other", list(range(100, 136)), "other") == CacheMiss(MissKind.FIRST_TURN, 0, 35)
    assert ask("4", edited, "chat") == CacheMiss(MissKind.EVICTED, 0, 24)


def test_switching_conversations_costs_nothing_while_there_is_room() -> None:
    bench = Bench(make_config(num_blocks=40))
    known = {"a": list(range(17)), "b": list(range(40, 55))}
    for turn in range(3):
        for name, text in list(known.items()):
            request_id = f"{name}{turn}"
            bench.add(request_id, text, conversation=name, max_tokens=3)
            bench.run()
            timeline = bench.finished(request_id).timeline
            assert timeline is not None
            if turn:
                assert timeline.cache_miss is None
                assert timeline.num_cached_tokens >= timeline.num_prompt_tokens - 6
            known[name] = [*text, *bench.tokens(request_id), 3, 4]


def test_ten_thousand_random_operations_leak_no_block() -> None:
    rng = random.Random(7)
    bench = Bench(
        make_config(num_blocks=40, block_size=8, context_length=120, max_streams=6),
        copies_tails=True,
        max_cached_blocks=25,
    )
    scheduler, kv = bench.scheduler, bench.kv
    stems = [[rng.randrange(VOCAB) for _ in range(60)] for _ in range(4)]
    for number in range(10_000):
        ids = scheduler.request_ids
        act = rng.random()
        if act < 0.25 and len(ids) < 12:
            stem = rng.choice(stems)[: rng.randrange(1, 60)]
            tail = [rng.randrange(VOCAB) for _ in range(rng.randrange(1, 30))]
            bench.add(
                str(number),
                stem + tail,
                conversation=rng.choice("abcd"),
                priority=rng.randrange(3),
                max_tokens=rng.randrange(1, 25),
            )
        elif act < 0.3 and ids:
            scheduler.cancel(rng.choice(ids))
        elif act < 0.33 and ids:
            scheduler.prioritise(rng.choice(ids), rng.randrange(3))
        else:
            plan = scheduler.schedule()
            if rng.random() < 0.05:
                plan = StepPlan(())
            scheduler.update(plan, bench.runner.run(plan, lambda: False))
        if number % 50 == 0:
            scheduler.check_integrity()
    for request_id in scheduler.request_ids:
        scheduler.cancel(request_id)
    scheduler.check_integrity()
    assert kv.num_live_blocks == kv.num_live_tokens == 0
    assert kv.allocate("all", [VOCAB] * 319) == 0
    assert kv.append("all", 320) == tuple(range(40))


def test_an_answer_without_the_cache_shares_nothing_and_is_found_by_nobody() -> None:
    bench = Bench(make_config(num_blocks=32))
    prompt = list(range(12))
    bench.add("kept", prompt, max_tokens=4)
    bench.run()
    bench.add("anew", prompt, keeps_cache=False, max_tokens=4)
    bench.add("beside", prompt, max_tokens=4)
    bench.run()
    assert bench.tokens("anew") == bench.tokens("kept") == bench.tokens("beside")
    assert bench.finished("anew").timeline.num_cached_tokens == 0
    assert bench.finished("beside").timeline.num_cached_tokens > 0
    lengths = [
        len(c.token_ids) for p in bench.runner.plans for c in p.chunks if c.request_id == "anew"
    ]
    assert sum(lengths) == 12 + 13 + 14 + 15
    assert bench.kv.num_live_blocks == 0


class Musing(FakeText):
    """Holds two tokens' text back, and takes everything for reasoning."""

    kept: str = ""
    thought: str = ""

    def push(self, token_id):
        self.kept += chr(token_id)
        if len(self.kept) > 2:
            self.thought, self.kept = self.thought + self.kept[0], self.kept[1:]
        return ""

    def flush(self):
        self.thought, self.kept = self.thought + self.kept, ""
        return ""

    def take_reasoning(self):
        thought, self.thought = self.thought, ""
        return thought


def test_reasoning_that_the_end_cuts_off_counts_every_token():
    bench = Bench(make_config())
    bench.add("a", [1, 2, 3], Musing(), max_tokens=6)
    bench.run()
    produced = [e for e in bench.events if isinstance(e, TokensProduced)]
    assert sum(e.num_reasoning for e in produced) == 6
    assert "".join(e.reasoning for e in produced) == "".join(map(chr, bench.tokens("a")))
