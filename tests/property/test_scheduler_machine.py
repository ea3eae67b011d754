"""Random arrivals, cancels, guesses and interruptions: all requests end, with their own answers."""

import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from typing_extensions import override

from engine.api import Finished, FinishReason, PrefillProgress, TokensProduced
from engine.config import LayerGroup, ResolvedConfig
from engine.kv.group import SLACK
from engine.model.batch import ForwardInterruptedError
from engine.sampling.constraint import TokenConstraint
from engine.scheduling.drafting import DraftQuery, Speculator
from engine.scheduling.plan import StepOutput, StepPlan
from engine.text.reasoning import ReasoningRouter, ReasoningTags
from tests.helpers.fake_runner import FakeText, expected_answer, next_token
from tests.helpers.scheduling import Bench, make_config

VOCAB = 89
BLOCK_SIZE = 6  # texts can part inside a block, far enough to be worth a copy
EOS = 7
STOP = 11
TAGS = ReasoningTags("<muse>", "</muse>")
PIECES = ("<m", "use>", "</m", "a")


class Guesser(Speculator):
    """Guesses up to five tokens, each rightly with a probability of ``skill``."""

    def __init__(self, skill: float, seed: int) -> None:
        self.skill = skill
        self.draw = random.Random(seed)
        self.requests: set[str] = set()

    @override
    def drafts(self, queries: Sequence[DraftQuery]) -> list[tuple[int, ...]]:
        return [self._guess(query) for query in queries]

    def _guess(self, query: DraftQuery) -> tuple[int, ...]:
        self.requests.add(query.request_id)
        known = list(query.known_ids)
        for _ in range(min(self.draw.randrange(6), query.most)):
            is_right = self.draw.random() < self.skill
            known.append(next_token(known, VOCAB) if is_right else self.draw.randrange(VOCAB))
        return tuple(known[len(query.known_ids) :])

    @override
    def note_step(self, num_rows: int, duration_ns: int) -> None:
        assert num_rows > 0
        assert duration_ns > 0

    @override
    def note_outcome(self, request_id: str, num_drafted: int, num_accepted: int) -> None:
        assert 0 <= num_accepted <= num_drafted > 0

    @override
    def forget(self, request_id: str) -> None:
        self.requests.discard(request_id)

    @override
    def plain_step_ns(self) -> float | None:
        return None

    @property
    @override
    def is_at_rest(self) -> bool:
        return False


class Alternating(TokenConstraint):
    """Odd and even tokens by turns; an answer that loses tokens or changes them is betrayed."""

    def __init__(self) -> None:
        self.followed: list[int] = []

    @override
    def allowed(self, output_ids: Sequence[int]) -> npt.NDArray[np.bool_]:
        assert list(output_ids[: len(self.followed)]) == self.followed
        self.followed = list(output_ids)
        return np.arange(VOCAB) % 2 == len(output_ids) % 2


@dataclass
class Muttering(FakeText):
    """Writes tags and halves of them."""

    @override
    def push(self, token_id: int) -> str:
        self.stopped = token_id == self.stop_token
        return "" if self.stopped else PIECES[token_id % len(PIECES)]


def _text() -> ReasoningRouter:
    return ReasoningRouter(Muttering(STOP), TAGS, is_continued=False)


@dataclass(frozen=True)
class Asked:
    """What a request wants."""

    prompt: list[int]
    length: int
    is_bound: bool


class Load:
    """A small pool under load; the fake model's answers betray any mix-up of blocks."""

    def __init__(self, config: ResolvedConfig, guesser: Guesser | None, **kv: object) -> None:
        self.bench = Bench(config, frozenset({EOS}), **kv)
        self.guesser = guesser
        if guesser is not None:
            self.bench.scheduler.speculate(guesser)
        self.asked: dict[str, Asked] = {}
        self.cancelled: set[str] = set()
        self.num_asked = 0
        self.num_interrupted = 0

    @property
    def ids(self) -> tuple[str, ...]:
        return self.bench.scheduler.request_ids

    def add(self, wanted: Asked, priority: int, conversation: str | None, keeps: bool) -> None:
        prompt = wanted.prompt[: self.bench.scheduler.limit - 1]
        request_id = str(self.num_asked)
        self.num_asked += 1
        self.asked[request_id] = Asked(prompt, wanted.length, wanted.is_bound)
        self.bench.add(
            request_id,
            prompt,
            _text(),
            max_tokens=wanted.length,
            stop=("what the text was made with",),
            priority=priority,
            conversation=conversation,
            keeps_cache=keeps,
            constraint=Alternating() if wanted.is_bound else None,
        )

    def known(self, pick: int) -> list[int]:
        """What one of the requests has said and been told."""
        request_id = sorted(self.asked, key=int)[pick % len(self.asked)]
        return [*self.asked[request_id].prompt, *self.bench.tokens(request_id)]

    def interrupt(self) -> None:
        """Give a step up: every other time before anything of it was done."""
        plan = self.bench.scheduler.schedule()
        self.num_interrupted += 1
        if self.num_interrupted % 2:
            with contextlib.suppress(ForwardInterruptedError):
                self.bench.runner.run(plan, lambda: True)
        self.bench.events += self.bench.scheduler.update(StepPlan(()), StepOutput({}, 0, 0))

    def cancel(self, pick: int) -> None:
        request_id = self.ids[pick % len(self.ids)]
        self.cancelled.add(request_id)
        self.bench.events += self.bench.scheduler.cancel(request_id)

    def finish(self) -> None:
        """Let everything end, and hold every answer to what it must be."""
        self.bench.run()
        assert not any(use.num_live for use in self.bench.kv.uses)
        if self.guesser is not None:
            assert not self.guesser.requests, "the guesser keeps what is over"
        for request_id in self.asked:
            self._check_answer(request_id)
            self._check_events(request_id)
        for event in self.bench.events:
            if isinstance(event, PrefillProgress):
                assert event.cached <= event.computed <= event.total
        self.asked.clear()
        self.bench.events.clear()

    def check_all_blocks(self) -> None:
        kv = self.bench.kv
        most = min(use.num_blocks for use in kv.uses) * kv.block_size
        assert kv.allocate("all", [9] * (most - 1)) == 0
        assert kv.append("all", most) is not None, "a block was lost"
        kv.free("all")
        kv.check_integrity()

    def _check_answer(self, request_id: str) -> None:
        asked, tokens = self.asked[request_id], self.bench.tokens(request_id)
        bound = Alternating() if asked.is_bound else None
        assert tokens == expected_answer(asked.prompt, len(tokens), VOCAB, bound)
        assert not {EOS, STOP} & set(tokens[:-1]), "it goes on behind its end"
        reason = self.bench.reason(request_id)
        assert (reason is FinishReason.CANCELLED) == (request_id in self.cancelled)
        if reason is FinishReason.CANCELLED:
            return
        last = {EOS: FinishReason.END_OF_TEXT, STOP: FinishReason.STOP_STRING}.get(tokens[-1])
        if last is None:
            is_long = len(tokens) == asked.length
            last = FinishReason.MAX_TOKENS if is_long else FinishReason.CONTEXT_FULL
        assert reason is last
        if reason is FinishReason.CONTEXT_FULL:
            assert len(asked.prompt) + len(tokens) == self.bench.scheduler.limit

    def _check_events(self, request_id: str) -> None:
        events = [
            e
            for e in self.bench.events
            if isinstance(e, TokensProduced | Finished) and e.request_id == request_id
        ]
        assert isinstance(events[-1], Finished)
        assert sum(isinstance(e, Finished) for e in events) == 1
        produced = [e for e in events if isinstance(e, TokensProduced)]
        for index, event in enumerate(e for e in produced if e.token_ids):
            assert event.is_first == (event.timeline is not None) == (index == 0)
        for event in produced:
            assert len(event.times_ns) == len(event.token_ids)
            assert all(0 <= start < end <= len(event.text) for start, end in event.guessed)
        router = _text()
        text = "".join(
            router.push(t) for t in self.bench.tokens(request_id) if t not in {EOS, STOP}
        )
        text += router.flush()
        assert "".join(e.text for e in produced) == text
        assert "".join(e.reasoning for e in produced) == router.take_reasoning()
        timeline = events[-1].timeline
        if timeline is not None:
            assert timeline.num_output_tokens == sum(len(e.token_ids) for e in produced)
            accepted = sum(e.num_accepted for e in produced)
            assert timeline.num_accepted_tokens == accepted <= timeline.num_drafted_tokens


def _groups(
    num_blocks: int, budget: int, windows: Sequence[tuple[int, int]], *, has_full: bool
) -> tuple[LayerGroup, ...]:
    """Layers that look back over everything, and some with windows: each its size and blocks more.

    A window's blocks are the fewest that one request can do with, and these.
    """
    groups = [LayerGroup((0, 1), num_blocks)] if has_full else []
    for number, (window, more) in enumerate(windows):
        least = -(-(window - 1 + budget) // BLOCK_SIZE) + 1 + SLACK
        layers = tuple(range(2 + 3 * number, 5 + 3 * number))
        groups.append(LayerGroup(layers, 1 + least + more, window, budget))
    return tuple(groups)


def _config(
    num_blocks: int,
    budget: int,
    *,
    kv_cache: bool,
    prefix_cache: bool,
    windows: Sequence[tuple[int, int]] = (),
    has_full: bool = True,
) -> ResolvedConfig:
    return make_config(
        num_blocks=num_blocks,
        groups=_groups(num_blocks, budget, windows, has_full=has_full) if windows else (),
        block_size=BLOCK_SIZE,
        context_length=24,
        max_batch_tokens=budget,
        max_streams=3,
        kv_cache=kv_cache,
        prefix_cache=prefix_cache,
    )


def _window(group: tuple[int, int]) -> int:
    return group[0]


class Chats(RuleBasedStateMachine):
    """Any order of anything."""

    @initialize(
        config=st.builds(
            _config,
            st.integers(3, 12),
            st.integers(2, 9),
            kv_cache=st.booleans(),
            prefix_cache=st.booleans(),
            windows=st.lists(
                st.tuples(st.integers(1, 14), st.integers(0, 4)), max_size=2, unique_by=_window
            ),
            has_full=st.booleans(),
        ),
        copies_tails=st.booleans(),
        max_cached=st.none() | st.integers(0, 6),
        skill=st.none() | st.sampled_from([0.0, 0.5, 0.9, 1.0]),
        seed=st.integers(0, 9),
    )
    def configure(
        self,
        config: ResolvedConfig,
        copies_tails: bool,
        max_cached: int | None,
        skill: float | None,
        seed: int,
    ) -> None:
        guesser = None if skill is None else Guesser(skill, seed)
        self.load = Load(config, guesser, copies_tails=copies_tails, max_cached_blocks=max_cached)

    @rule(
        prompt=st.lists(st.integers(0, 1), min_size=1, max_size=20),
        length=st.integers(1, 12),
        is_bound=st.booleans(),
        priority=st.integers(0, 2),
        conversation=st.sampled_from([None, "a", "b"]),
        keeps=st.booleans(),
    )
    def arrive(
        self,
        prompt: list[int],
        length: int,
        is_bound: bool,
        priority: int,
        conversation: str | None,
        keeps: bool,
    ) -> None:
        self.load.add(Asked(prompt, length, is_bound), priority, conversation, keeps)

    @precondition(lambda self: self.load.asked)
    @rule(
        pick=st.integers(0, 99),
        cut=st.integers(0, 20),
        more=st.lists(st.integers(0, 1), min_size=1, max_size=6),
    )
    def branch(self, pick: int, cut: int, more: list[int]) -> None:
        """Another turn, or an edit, of what was said before."""
        known = self.load.known(pick)
        prompt = [*known[: max(0, len(known) - cut)], *more]
        self.load.add(Asked(prompt, 6, is_bound=False), 1, "a", keeps=True)

    @precondition(lambda self: self.load.ids)
    @rule(pick=st.integers(0, 99), priority=st.integers(0, 2))
    def prioritise(self, pick: int, priority: int) -> None:
        ids = self.load.ids
        self.load.bench.scheduler.prioritise(ids[pick % len(ids)], priority)

    @precondition(lambda self: self.load.bench.scheduler.has_work)
    @rule()
    def step(self) -> None:
        self.load.bench.step()

    @precondition(lambda self: self.load.bench.scheduler.has_work)
    @rule()
    def interrupt(self) -> None:
        self.load.interrupt()

    @precondition(lambda self: self.load.ids)
    @rule(pick=st.integers(0, 99))
    def cancel(self, pick: int) -> None:
        self.load.cancel(pick)

    @invariant()
    def books_balance(self) -> None:
        if hasattr(self, "load"):
            self.load.bench.scheduler.check_integrity()

    def teardown(self) -> None:
        if hasattr(self, "load"):
            self.load.finish()
            self.load.check_all_blocks()


Chats.TestCase.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
TestChats = Chats.TestCase


@pytest.mark.parametrize("windows", [(), ((9, 3),), ((4, 2), (13, 0))], ids=str)
def test_ten_thousand_operations_leak_nothing_and_change_no_answer(
    windows: Sequence[tuple[int, int]],
) -> None:
    draw = random.Random(5)
    config = _config(14, 9, kv_cache=True, prefix_cache=True, windows=windows)
    load = Load(config, Guesser(0.8, 3), copies_tails=True)
    for number in range(10_000):
        choice = draw.random()
        if choice < 0.12 and len(load.ids) < 8:
            length = draw.randrange(1, 20)
            prompt = [draw.randrange(2) for _ in range(length)]
            wanted = Asked(prompt, draw.randrange(1, 12), draw.random() < 0.2)
            load.add(wanted, draw.randrange(3), draw.choice([None, "a"]), draw.random() < 0.9)
        elif choice < 0.22 and load.asked and len(load.ids) < 8:
            known = load.known(draw.randrange(99))
            prompt = [*known[: draw.randrange(len(known) + 1)], draw.randrange(2)]
            load.add(Asked(prompt, 8, is_bound=False), draw.randrange(3), "a", keeps=True)
        elif choice < 0.26 and load.ids:
            load.cancel(draw.randrange(99))
        elif choice < 0.36:
            load.interrupt()
        else:
            load.bench.step()
        if number % 400 == 399:
            load.finish()
    load.check_all_blocks()
    assert load.num_asked > 1_000
