"""Random arrivals, cancels and interruptions: every request ends, every answer is its own."""

import contextlib

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.api import Finished, FinishReason, PrefillProgress, TokensProduced
from engine.model.batch import ForwardInterruptedError
from engine.scheduling.plan import StepOutput, StepPlan
from tests.helpers.fake_runner import expected_answer
from tests.helpers.scheduling import Bench, make_config

VOCAB = 89


class Chats(RuleBasedStateMachine):
    """A small pool under load; the fake model's answers betray any mix-up of blocks."""

    @initialize(
        num_blocks=st.integers(3, 12),
        budget=st.integers(2, 9),
        kv_cache=st.booleans(),
        prefix_cache=st.booleans(),
    )
    def configure(self, num_blocks: int, budget: int, kv_cache: bool, prefix_cache: bool) -> None:
        self.bench = Bench(
            make_config(
                num_blocks=num_blocks,
                block_size=3,
                context_length=24,
                max_batch_tokens=budget,
                max_streams=3,
                kv_cache=kv_cache,
                prefix_cache=prefix_cache,
            )
        )
        self.prompts: dict[str, list[int]] = {}
        self.cancelled: set[str] = set()

    @rule(prompt=st.lists(st.integers(0, 1), min_size=1, max_size=20), length=st.integers(1, 12))
    def arrive(self, prompt: list[int], length: int) -> None:
        prompt = prompt[: self.bench.scheduler.limit - 1]
        request_id = str(len(self.prompts))
        self.prompts[request_id] = prompt
        self.bench.add(request_id, prompt, max_tokens=length)

    @precondition(lambda self: self.bench.scheduler.has_work)
    @rule()
    def step(self) -> None:
        self.bench.step()

    @precondition(lambda self: self.bench.scheduler.has_work)
    @rule()
    def interrupt(self) -> None:
        plan = self.bench.scheduler.schedule()
        with contextlib.suppress(ForwardInterruptedError):
            self.bench.runner.run(plan, lambda: True)
        self.bench.events += self.bench.scheduler.update(StepPlan(()), StepOutput({}, 0, 0))

    @precondition(lambda self: self.bench.scheduler.request_ids)
    @rule(pick=st.integers(0, 99))
    def cancel(self, pick: int) -> None:
        ids = self.bench.scheduler.request_ids
        request_id = ids[pick % len(ids)]
        self.cancelled.add(request_id)
        self.bench.events += self.bench.scheduler.cancel(request_id)

    @invariant()
    def books_balance(self) -> None:
        if hasattr(self, "bench"):
            self.bench.scheduler.check_integrity()
            ids = self.bench.scheduler.request_ids
            assert list(ids) == sorted(ids, key=int), "a younger request overtook an older one"

    def teardown(self) -> None:
        if not hasattr(self, "bench"):
            return
        self.bench.run()
        assert self.bench.kv.num_live_blocks == 0
        for request_id, prompt in self.prompts.items():
            tokens = self.bench.tokens(request_id)
            assert tokens == expected_answer(prompt, len(tokens), VOCAB)
            reason = self.bench.reason(request_id)
            assert (reason is FinishReason.CANCELLED) == (request_id in self.cancelled)
            self._check_order(request_id)

    def _check_order(self, request_id: str) -> None:
        events = [
            e
            for e in self.bench.events
            if isinstance(e, TokensProduced | Finished) and e.request_id == request_id
        ]
        assert isinstance(events[-1], Finished)
        produced = [e for e in events if isinstance(e, TokensProduced)]
        for index, event in enumerate(produced):
            assert event.is_first == (event.timeline is not None) == (index == 0)
        for event in self.bench.events:
            if isinstance(event, PrefillProgress):
                assert event.cached <= event.computed <= event.total


Chats.TestCase.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
TestChats = Chats.TestCase
