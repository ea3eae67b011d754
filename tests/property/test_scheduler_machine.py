"""Random arrivals, priorities, cancels and interruptions: all requests end, with their own answers."""

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
BLOCK_SIZE = 6  # texts can part inside a block, far enough to be worth a copy


class Chats(RuleBasedStateMachine):
    """A small pool under load; the fake model's answers betray any mix-up of blocks."""

    @initialize(
        num_blocks=st.integers(3, 12),
        budget=st.integers(2, 9),
        kv_cache=st.booleans(),
        prefix_cache=st.booleans(),
        copies_tails=st.booleans(),
        max_cached=st.none() | st.integers(0, 6),
    )
    def configure(
        self,
        num_blocks: int,
        budget: int,
        kv_cache: bool,
        prefix_cache: bool,
        copies_tails: bool,
        max_cached: int | None,
    ) -> None:
        self.bench = Bench(
            make_config(
                num_blocks=num_blocks,
                block_size=BLOCK_SIZE,
                context_length=24,
                max_batch_tokens=budget,
                max_streams=3,
                kv_cache=kv_cache,
                prefix_cache=prefix_cache,
            ),
            copies_tails=copies_tails,
            max_cached_blocks=max_cached,
        )
        self.prompts: dict[str, list[int]] = {}
        self.cancelled: set[str] = set()

    @rule(
        prompt=st.lists(st.integers(0, 1), min_size=1, max_size=20),
        length=st.integers(1, 12),
        priority=st.integers(0, 2),
        conversation=st.sampled_from([None, "a", "b"]),
    )
    def arrive(
        self, prompt: list[int], length: int, priority: int, conversation: str | None
    ) -> None:
        self._add(prompt, length, priority, conversation)

    @precondition(lambda self: self.prompts)
    @rule(
        pick=st.integers(0, 99),
        cut=st.integers(0, 20),
        more=st.lists(st.integers(0, 1), min_size=1, max_size=6),
    )
    def branch(self, pick: int, cut: int, more: list[int]) -> None:
        """Another turn, or an edit, of what was said before."""
        request_id = sorted(self.prompts, key=int)[pick % len(self.prompts)]
        known = [*self.prompts[request_id], *self.bench.tokens(request_id)]
        self._add([*known[: max(0, len(known) - cut)], *more], 4, 1, "a")

    def _add(
        self, prompt: list[int], length: int, priority: int, conversation: str | None
    ) -> None:
        prompt = prompt[: self.bench.scheduler.limit - 1]
        request_id = str(len(self.prompts))
        self.prompts[request_id] = prompt
        self.bench.add(
            request_id, prompt, max_tokens=length, priority=priority, conversation=conversation
        )

    @precondition(lambda self: self.bench.scheduler.request_ids)
    @rule(pick=st.integers(0, 99), priority=st.integers(0, 2))
    def prioritise(self, pick: int, priority: int) -> None:
        ids = self.bench.scheduler.request_ids
        self.bench.scheduler.prioritise(ids[pick % len(ids)], priority)

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

    def teardown(self) -> None:
        if not hasattr(self, "bench"):
            return
        self.bench.run()
        assert self.bench.kv.num_live_blocks == 0
        kv = self.bench.kv
        assert kv.allocate("all", [9] * (kv.capacity - 1)) == 0
        assert kv.append("all", kv.capacity) is not None, "a block was lost"
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
