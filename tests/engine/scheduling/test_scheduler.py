"""What each step computes, in tiny configurations with exact expectations."""

import pytest

from engine.api import (
    Failure,
    Finished,
    FinishReason,
    PrefillProgress,
    RequestFailed,
    TokensProduced,
)
from engine.errors import EngineError
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
    bench.add("a", [1, 2], FakeText(stop_token=66, held="stop"))
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
    assert bench.scheduler.update(plan, StepOutput({"a": 5}, 1, 2)) == []


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
