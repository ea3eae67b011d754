"""The draft model's bookkeeping: whatever comes true, its cache tells the request's own story."""

import random

import pytest

from engine.api import SamplingParams
from engine.kv.manager import KVManager
from engine.model.batch import ForwardInterruptedError
from engine.scheduling.drafting import DraftQuery
from engine.scheduling.plan import StepOutput
from engine.speculative.draft_model import ModelDrafter

BLOCK = 4


def next_token(token):
    return (token * 7 + 3) % 50


class SlotModel:
    """Follows ``next_token``; checks that its cache holds what each chunk builds on."""

    def __init__(self):
        self.slots = {}
        self.num_passes = 0
        self.num_tokens = 0
        self.is_interrupted = False

    def run(self, plan, interrupted):
        if interrupted():
            raise ForwardInterruptedError
        self.num_passes += 1
        sampled = {}
        for chunk in plan.chunks:
            assert chunk.token_ids
            self.num_tokens += len(chunk.token_ids)
            held = [self.slots[self._slot(chunk, p)] for p in range(chunk.start)]
            assert held == list(chunk.known_ids[: chunk.start])
            for offset, token in enumerate(chunk.token_ids):
                self.slots[self._slot(chunk, chunk.start + offset)] = token
            if chunk.num_logits:
                assert list(chunk.known_ids[chunk.start :]) == list(chunk.token_ids)
                sampled[chunk.request_id] = (next_token(chunk.token_ids[-1]),)
        return StepOutput(sampled, 0, 0)

    def _slot(self, chunk, position):
        return chunk.block_ids[position // BLOCK] * BLOCK + position % BLOCK


def make(*, blocks=64, budget=64, limit=1_000, token_ns=1_000):
    model = SlotModel()
    kv = KVManager(num_blocks=blocks, block_size=BLOCK, prefix_cache=True)
    drafter = ModelDrafter(
        model.run,
        kv,
        budget=budget,
        limit=limit,
        interrupted=lambda: model.is_interrupted,
        clock=lambda: model.num_tokens * token_ns,
    )
    return model, kv, drafter


def query(known, most=3, request_id="a"):
    return DraftQuery(request_id, known, SamplingParams(), 0, 0, most)


def follow(token, length):
    guesses = []
    for _ in range(length):
        token = next_token(token)
        guesses.append(token)
    return tuple(guesses)


def test_guesses_follow_the_draft_model():
    _, _, drafter = make()
    assert drafter.propose([query([1, 2, 3])]) == [follow(3, 3)]


def test_right_guesses_are_not_computed_again():
    model, _, drafter = make()
    known = [1, 2, 3]
    guesses = drafter.propose([query(known)])[0]
    assert model.num_tokens == 3 + 2
    known += [*guesses, next_token(guesses[-1])]
    drafter.propose([query(known)])
    # the last guess and the token after it, then two more guesses' inputs
    assert model.num_tokens == 5 + 2 + 2


def test_a_long_prompt_is_read_over_several_calls():
    model, _, drafter = make(budget=8)
    known = list(range(20))
    proposals = [drafter.propose([query(known)])[0] for _ in range(3)]
    assert proposals == [(), (), follow(19, 3)]
    assert model.num_tokens == 20 + 2


def test_a_slow_reader_reads_little_at_a_time_and_holds_up_nobody_elses_guesses():
    model, _, drafter = make(blocks=400, budget=512, token_ns=1_000_000)
    quick, long = [1, 2, 3], list(range(45)) * 20
    read = []
    while True:
        before = model.num_tokens
        first, second = drafter.propose([query(long, request_id="b"), query(quick)])
        read.append(model.num_tokens - before)
        assert second == follow(quick[-1], 3), "guessed in every call"
        quick.append(next_token(quick[-1]))
        if first:
            break
    assert first == follow(long[-1], 3)
    # 30 ms each at 1 ms a token, the quick one's three passes and the first guesses included
    assert max(read[1:]) <= 30 + 8
    assert len(read) >= 900 / 38


def test_a_fast_reader_soon_reads_all_that_a_pass_may_have():
    model, _, drafter = make(blocks=2_000, budget=512, limit=8_000, token_ns=10_000)
    known = list(range(40)) * 100
    calls = 1
    while not drafter.propose([query(known)])[0]:
        calls += 1
    assert calls <= 11
    assert model.num_tokens == 4_000 + 2


def test_interruption_proposes_nothing_and_loses_nothing():
    model, _, drafter = make()
    known = [1, 2, 3]
    model.is_interrupted = True
    assert drafter.propose([query(known)]) == [()]
    model.is_interrupted = False
    assert drafter.propose([query(known)]) == [follow(3, 3)]


def test_a_request_beyond_the_draft_models_context_gets_no_guesses():
    _, kv, drafter = make(limit=10)
    assert drafter.propose([query([1] * 6, 3)]) != [()]
    assert drafter.propose([query([1] * 9, 3)]) == [()]
    assert kv.num_live_blocks == 0


def test_a_shortage_of_blocks_proposes_nothing():
    _, _, drafter = make(blocks=2)
    both = [query([1] * 6), query([2] * 6, request_id="b")]
    assert () in drafter.propose(both)


@pytest.mark.parametrize("seed", range(6))
def test_any_mix_of_right_and_wrong_guesses_leaves_the_cache_true(seed):
    draw = random.Random(seed)
    _, kv, drafter = make(blocks=96, budget=16)
    known = {name: [draw.randrange(50) for _ in range(draw.randrange(1, 30))] for name in "abc"}
    for _ in range(60):
        names = [name for name in known if draw.random() < 0.8]
        queries = [query(known[n], draw.randrange(0, 5), n) for n in names]
        for name, guesses in zip(names, drafter.propose(queries), strict=True):
            taken = guesses[: draw.randrange(len(guesses) + 1)]
            known[name] += [*taken, draw.randrange(50)]
        kv.check_integrity()
        if draw.random() < 0.1:
            name = draw.choice("abc")
            drafter.forget(name)
            known[name] = known[name][:5]
    for name in known:
        drafter.forget(name)
    assert kv.num_live_blocks == 0
