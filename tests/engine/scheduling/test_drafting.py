"""Guesses change how many steps an answer takes, and nothing else."""

import random
from dataclasses import replace

import pytest

from engine.api import FinishReason, TokensProduced
from engine.sampling.constraint import TokenConstraint
from engine.scheduling.drafting import Speculator
from engine.scheduling.plan import StepPlan
from tests.helpers.fake_runner import FakeText, expected_answer
from tests.helpers.scheduling import Bench, make_config

VOCAB = 89


class Guesser(Speculator):
    """Knows the answers, and tells each token rightly with a probability of ``skill``."""

    def __init__(self, answers, skill, most=5, seed=0):
        self.answers = answers
        self.skill = skill
        self.most = most
        self.draw = random.Random(seed)
        self.outcomes = []
        self.rows = []
        self.durations = []
        self.forgotten = []

    def drafts(self, queries):
        drafts = []
        for query in queries:
            rest = self.answers[query.request_id][query.sample_index :]
            length = min(self.draw.randrange(self.most + 1), query.most)
            drafts.append(
                tuple(t if self.draw.random() < self.skill else VOCAB for t in rest[:length])
            )
        return drafts

    def note_step(self, num_rows, duration_ns):
        assert duration_ns > 0
        self.rows.append(num_rows)
        self.durations.append(duration_ns)

    def note_outcome(self, request_id, num_drafted, num_accepted):
        assert 0 <= num_accepted <= num_drafted
        self.outcomes.append((request_id, num_drafted, num_accepted))

    def forget(self, request_id):
        self.forgotten.append(request_id)


class Anything(TokenConstraint):
    """Lets every token through."""

    def allowed(self, _output_ids):
        return [True] * VOCAB


def _bench(guesser, **config):
    bench = Bench(make_config(**config))
    bench.scheduler.speculate(guesser)
    return bench


@pytest.mark.parametrize("skill", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_answers_are_the_same_whatever_is_guessed(skill, seed):
    prompts = {"a": [1, 2, 3], "b": [4] * 9, "c": [5, 6]}
    answers = {name: expected_answer(p, 24, VOCAB) for name, p in prompts.items()}
    bench = _bench(Guesser(answers, skill, seed=seed), num_blocks=30, context_length=60)
    for name, prompt in prompts.items():
        bench.add(name, prompt, max_tokens=20)
    bench.run()
    for name in prompts:
        assert bench.tokens(name) == answers[name][:20]
        assert bench.text(name) == "".join(map(chr, answers[name][:20]))
        assert bench.reason(name) is FinishReason.MAX_TOKENS


@pytest.mark.parametrize("seed", range(4))
def test_answers_stay_the_same_when_blocks_are_short(seed):
    prompts = {"a": [1, 2, 3], "b": [4] * 9, "c": [5, 6, 7, 8, 9]}
    answers = {name: expected_answer(p, 30, VOCAB) for name, p in prompts.items()}
    bench = _bench(Guesser(answers, 0.7, seed=seed), num_blocks=11, context_length=40)
    for name, prompt in prompts.items():
        bench.add(name, prompt, max_tokens=22)
    bench.run()
    for name in prompts:
        assert bench.tokens(name) == answers[name][:22]


def test_right_guesses_save_steps_and_are_marked():
    answers = {"a": expected_answer([1, 2], 30, VOCAB)}
    guesser = Guesser(answers, 1.0, most=4)
    bench = _bench(guesser)
    bench.add("a", [1, 2], max_tokens=21)
    bench.run()
    produced = [e for e in bench.events if isinstance(e, TokensProduced)]
    assert len(produced) < 15
    assert all(e.num_accepted == len(e.token_ids) - 1 for e in produced[:-1])
    assert all(len(e.times_ns) == len(e.token_ids) for e in produced)
    assert [e.guessed for e in produced if e.num_accepted][:1] == [
        ((0, produced[1].num_accepted),)
    ]
    timeline = bench.finished("a").timeline
    assert timeline.num_output_tokens == 21
    assert timeline.num_accepted_tokens == sum(e.num_accepted for e in produced)
    assert timeline.num_drafted_tokens == sum(drafted for _, drafted, _ in guesser.outcomes)
    assert [e.is_first for e in produced] == [True] + [False] * (len(produced) - 1)


def test_an_end_among_the_guesses_ends_the_answer_there():
    answer = expected_answer([1, 2], 30, VOCAB)
    end = answer[7]
    first = answer.index(end)
    bench = Bench(make_config(), eos_ids=frozenset({end}))
    bench.scheduler.speculate(Guesser({"a": answer}, 1.0))
    bench.add("a", [1, 2], max_tokens=30)
    bench.run()
    assert bench.tokens("a") == answer[: first + 1]
    assert bench.reason("a") is FinishReason.END_OF_TEXT
    assert bench.kv.num_live_blocks == 0


def test_a_stop_string_among_the_guesses_ends_the_answer_there():
    answer = expected_answer([1, 2], 30, VOCAB)
    stop = answer[5]
    bench = _bench(Guesser({"a": answer}, 1.0))
    bench.add("a", [1, 2], FakeText(stop_token=stop), max_tokens=30, stop=("x",))
    bench.run()
    assert bench.text("a") == "".join(map(chr, answer[: answer.index(stop)]))
    assert bench.reason("a") is FinishReason.STOP_STRING


def test_nothing_is_guessed_without_a_cache_or_under_a_constraint():
    answers = {"a": expected_answer([1, 2], 30, VOCAB)}
    without = _bench(Guesser(answers, 1.0), kv_cache=False)
    without.add("a", [1, 2], max_tokens=10)
    without.run()
    assert without.tokens("a") == answers["a"][:10]
    assert without.finished("a").timeline.num_drafted_tokens == 0

    bound = _bench(Guesser(answers, 1.0))
    bound.add("a", [1, 2], max_tokens=10, constraint=Anything())
    bound.run()
    assert bound.tokens("a") == answers["a"][:10]
    assert bound.finished("a").timeline.num_drafted_tokens == 0


def test_the_speculator_hears_of_steps_that_only_decode_and_of_the_end():
    answers = {"a": expected_answer([1, 2], 30, VOCAB)}
    guesser = Guesser(answers, 1.0)
    bench = _bench(guesser)
    bench.add("a", [1, 2], max_tokens=12)
    bench.run()
    assert guesser.forgotten == ["a"]
    assert sum(guesser.rows) >= 11
    assert all(rows <= 6 for rows in guesser.rows)


def test_guesses_stay_within_the_budget_of_a_step():
    answers = {name: expected_answer([i, 2], 30, VOCAB) for i, name in enumerate("abcd")}
    guesser = Guesser(answers, 1.0, most=8)
    bench = _bench(guesser, max_batch_tokens=8, num_blocks=40)
    for i, name in enumerate("abcd"):
        bench.add(name, [i, 2], max_tokens=20)
    bench.run()
    assert max(plan.num_tokens for plan in bench.runner.plans) <= 8


def test_what_a_plain_step_costs_is_measured_on_the_answers_own_steps():
    answer = expected_answer([1, 2], 60, VOCAB)
    guesser = Guesser({"a": answer}, 0.0, most=1)
    guesser.plain_step_ns = lambda: 123.4
    bench = _bench(guesser, context_length=60, num_blocks=20)
    bench.add("a", [1, 2], max_tokens=4)
    bench.run()
    assert bench.finished("a").timeline.plain_step_ns == 123, "too few steps"

    bench = _bench(guesser, context_length=60, num_blocks=20)
    bench.add("a", [1, 2], max_tokens=40)
    bench.run()
    timeline = bench.finished("a").timeline
    span = timeline.last_token_ns - timeline.first_token_ns
    # wrong guesses save no step, and the fake clock gives all steps the same time
    assert timeline.plain_step_ns == pytest.approx(span / 39, rel=0.5)
    assert timeline.num_accepted_tokens == 0
    assert timeline.tokens_per_step == 1.0


def test_a_guess_takes_no_block_that_another_is_going_to_need():
    # seven blocks of four tokens: the prompt's share is counted while it is read in pieces
    answer = expected_answer([1, 2, 3], 30, VOCAB)
    document = [3] * 16
    answers = {"a": answer, "b": expected_answer(document, 4, VOCAB)}
    guesser = Guesser(answers, 1.0, most=8)
    guesser.draw.randrange = lambda _end: 8
    bench = _bench(guesser, num_blocks=7, context_length=28, max_batch_tokens=6)
    bench.add("a", [1, 2, 3], max_tokens=9)
    bench.step()
    bench.add("b", document, max_tokens=2)
    bench.run()
    assert bench.tokens("b") == answers["b"][:2]
    assert bench.finished("b").timeline.num_preemptions == 0
    assert bench.finished("a").timeline.num_preemptions == 0


def test_a_prompt_is_read_while_another_answer_is_guessed():
    answer = expected_answer([1, 2], 40, VOCAB)
    answers = {"a": answer, "b": expected_answer([7] * 9, 1, VOCAB)}
    guesser = Guesser(answers, 1.0, most=8)
    guesser.draw.randrange = lambda _end: 8
    bench = _bench(guesser, num_blocks=20, context_length=60, max_batch_tokens=6)
    bench.add("a", [1, 2], max_tokens=30)
    bench.step()
    bench.add("b", [7] * 9, max_tokens=1)
    for _ in range(3):
        bench.step()
    assert bench.reason("b") is FinishReason.MAX_TOKENS
    bench.run()
    assert bench.tokens("a") == answer[:30]


def test_a_long_queue_costs_a_step_no_more_than_a_short_one():
    bench = Bench(make_config(num_blocks=8, block_size=4, max_streams=2))
    asked = []
    find_place = bench.kv.find_place
    bench.kv.find_place = lambda *a, **k: asked.append(0) or find_place(*a, **k)
    for number in range(60):
        bench.add(str(number), [number % 80, 1, 2], max_tokens=20)
    while bench.scheduler.has_work:
        asked.clear()
        bench.step()
        assert len(asked) <= 4


def test_a_plan_that_runs_again_in_parts_charges_none_for_the_others():
    guesser = Guesser({"a": [], "b": []}, 0, most=0)
    bench = _bench(guesser)
    for name in "ab":
        bench.add(name, [1], max_tokens=9)
    bench.step()
    plan = bench.scheduler.schedule()
    del guesser.durations[:]
    for chunk in plan.chunks:
        alone = StepPlan((chunk,))
        start = bench.clock()
        output = replace(bench.runner.run(alone, lambda: False), start_ns=start)
        bench.scheduler.update(alone, output)
    first, second = guesser.durations
    assert first == second
