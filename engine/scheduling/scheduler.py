"""Which tokens the next step computes, and what its output means for each request.

One idea: computed tokens chase known tokens. Continuous batching, chunked prefill, prefix hits,
recomputation after preemption and running without a cache are all that. Runs in the engine's
thread; imports no torch and never sees a tensor.
"""

import itertools
from collections.abc import Sequence

from engine.api import (
    Event,
    Failure,
    Finished,
    FinishReason,
    RequestFailed,
)
from engine.config import ResolvedConfig
from engine.kv.hit import Hit
from engine.kv.manager import KVManager
from engine.kv.reuse import CacheIdentity, ReuseHistory
from engine.metrics import Clock, now_ns
from engine.scheduling.booking import append_tokens, ending, held_back, progress
from engine.scheduling.drafting import Speculator
from engine.scheduling.guessing import Guessing
from engine.scheduling.order import level, quick_ones_first, rank
from engine.scheduling.pace import PrefillPace
from engine.scheduling.plan import ScheduledChunk, StepOutput, StepPlan
from engine.scheduling.request import Request

_UNNAMED = CacheIdentity("", "")


class Scheduler:
    """Continuous batching over one block pool, in the order of ``engine.scheduling.order``.

    The first in that order always gets what it needs, from the last ones if need be, and in time
    every request becomes the first: so each of them ends some day.
    """

    def __init__(
        self,
        config: ResolvedConfig,
        kv: KVManager,
        *,
        eos_ids: frozenset[int],
        pace: PrefillPace | None = None,
        memory: tuple[ReuseHistory, CacheIdentity] | None = None,
        clock: Clock = now_ns,
    ) -> None:
        """``memory``: what conversations computed before, and what they compute with now."""
        self._kv = kv
        self._kv_cache = config.kv_cache
        self._max_streams = config.max_streams
        self._budget = config.max_batch_tokens
        self._limit = min(config.context_length, kv.capacity)
        self._eos_ids = eos_ids
        self._clock = clock
        self._pace = PrefillPace(config.max_batch_tokens) if pace is None else pace
        self._history, self._identity = (ReuseHistory(), _UNNAMED) if memory is None else memory
        self._guessing: Guessing | None = None
        self._arrivals = itertools.count()
        self._running: dict[str, Request] = {}
        self._waiting: dict[str, Request] = {}
        self._unsent: list[Event] = []
        self._step_start_ns = 0
        self._forward_total_ns = 0

    @property
    def limit(self) -> int:
        """Tokens, prompt and answer together, that one request can ever have."""
        return self._limit

    @property
    def has_work(self) -> bool:
        """Whether a step would compute something or has something to say."""
        return bool(self._running or self._waiting or self._unsent)

    @property
    def num_running(self) -> int:
        """Requests that own blocks."""
        return len(self._running)

    @property
    def num_waiting(self) -> int:
        """Requests that wait for room."""
        return len(self._waiting)

    @property
    def request_ids(self) -> tuple[str, ...]:
        """All requests, the first to be served first."""
        return tuple(request.request_id for request in self._ranked())

    @property
    def conversations(self) -> dict[str, str | None]:
        """The conversation of each running request."""
        return {request_id: r.conversation_id for request_id, r in self._running.items()}

    def add(self, request: Request) -> None:
        """Queue a request whose prompt is shorter than ``limit``."""
        assert 0 < request.num_known < self._limit, "the caller checks the prompt's length"
        request.arrival = next(self._arrivals)
        request.keeps_cache = request.keeps_cache and self._kv_cache
        self._waiting[request.request_id] = request

    def speculate(self, speculator: Speculator) -> None:
        """Verify what ``speculator`` guesses; nothing where each step computes everything anew."""
        self._guessing = Guessing(self._kv, speculator) if self._kv_cache else None

    def prioritise(self, request_id: str, priority: int) -> None:
        """Change a request's priority; nothing for an unknown id."""
        request = self._find(request_id)
        if request is not None:
            request.priority = priority

    def schedule(self) -> StepPlan:
        """Plan the next step: tokens of running answers, then prompts, then guesses that fit.

        Takes blocks for what it plans. A plan that was not run may be dropped: its requests are
        simply scheduled again.
        """
        chunks: dict[str, ScheduledChunk] = {}
        budget = self._budget
        ranked = self._ranked()
        running = self._running
        answers = [r for r in ranked if r.num_behind == 1 and r.request_id in running][:budget]
        drafts = {} if self._guessing is None else self._guessing.ask(answers, self._limit)
        self._step_start_ns = self._clock()
        for request in answers:
            if request.request_id in running and self._plan(request, 1, chunks):
                budget -= 1
        if len(chunks) < len(ranked):
            share = min(budget, self._pace.chunk(is_shared=bool(chunks)))
            budget -= self._plan_prompts(ranked, share, chunks)
        if self._guessing is not None and drafts:
            self._guessing.append(drafts, chunks, budget, self._running.values())
        planned: list[ScheduledChunk] = []
        for request in ranked:
            chunk = chunks.get(request.request_id)
            if chunk is None:
                request.num_passed_over += 1
            else:
                planned.append(chunk)
        return StepPlan(tuple(planned))

    def update(self, plan: StepPlan, output: StepOutput) -> list[Event]:
        """Book the output of ``plan``, and return what the callers must hear, in order.

        An empty plan books nothing and returns what was left to say.
        """
        events, self._unsent = self._unsent, []
        # later than planned where the same plan failed before, and runs again in parts
        self._step_start_ns = max(self._step_start_ns, output.start_ns)
        num_prompt_tokens = sum(c.num_known for c in plan.chunks if c.num_known > 1)
        self._forward_total_ns = max(self._forward_total_ns, output.forward_total_ns)
        if num_prompt_tokens:
            self._pace.note(num_prompt_tokens, output.forward_end_ns - self._step_start_ns)
        if self._guessing is not None and plan.chunks and not num_prompt_tokens:
            duration_ns = output.sampled_ns - self._step_start_ns
            self._guessing.speculator.note_step(plan.num_tokens, duration_ns)
        for chunk in plan.chunks:
            request = self._running.get(chunk.request_id)
            if request is None:
                continue
            request.num_computed = chunk.start + chunk.num_known
            self._kv.commit(request.request_id, request.known_ids, request.num_computed)
            if not request.num_output:
                events.append(progress(request, self._step_start_ns, output.forward_end_ns))
            tokens = output.sampled.get(request.request_id)
            if tokens is not None:
                if self._guessing is not None:
                    self._guessing.note_step(request, chunk, tokens, output.sampled_ns)
                events += self._take_tokens(request, tokens, output)
        return events

    def defer(self, events: list[Event]) -> None:
        """Keep ``events`` until the next ``update``, which returns them first."""
        self._unsent += events

    def cancel(self, request_id: str) -> list[Event]:
        """End one request as CANCELLED, with the text held back; nothing for an unknown id."""
        request = self._find(request_id)
        if request is None:
            return []
        self._remove(request)
        return ending(request, FinishReason.CANCELLED)

    def fail(self, request_id: str, failure: Failure) -> list[Event]:
        """End one request by a failure, with the text held back; nothing for an unknown id."""
        request = self._find(request_id)
        if request is None:
            return []
        self._remove(request)
        return [*held_back(request), RequestFailed(request_id, failure, request.timeline())]

    def check_integrity(self) -> None:
        """Assert the scheduler's invariants and those of its blocks."""
        self._kv.check_integrity()
        assert not self._running.keys() & self._waiting.keys(), "one request in two places"
        assert len(self._running) <= self._max_streams
        assert all(request.num_behind >= 1 for request in self._ranked())
        assert all(request.num_known < self._limit for request in self._ranked())

    def _ranked(self) -> list[Request]:
        requests = [*self._running.values(), *self._waiting.values()]
        return requests if len(requests) < 2 else sorted(requests, key=rank)

    def _find(self, request_id: str) -> Request | None:
        return self._running.get(request_id) or self._waiting.get(request_id)

    def _is_running(self, request: Request) -> bool:
        return request.request_id in self._running

    def _plan_prompts(
        self, ranked: Sequence[Request], budget: int, chunks: dict[str, ScheduledChunk]
    ) -> int:
        """Share ``budget`` tokens out among prompts; returns how many it took.

        Waiting ones are admitted on the way, none at the cost of another that ranks before it and
        has no room: behind as many as there are streams, and behind one that was refused, nobody
        has any.
        """
        left = budget
        running = [r for r in ranked if r.num_behind > 1 and self._is_running(r)]
        line = (r for r in ranked if r.request_id in self._waiting)
        prompts = [*running, *itertools.islice(line, self._max_streams)]
        refused: Request | None = None
        for request in quick_ones_first(prompts, budget):
            if not left:
                break
            if not self._is_running(request):
                if refused is not None and _is_behind(request, refused):
                    continue
                if not self._try_admit(request, chunks):
                    refused = request
                    continue
            length = min(request.num_behind, left)
            if self._plan(request, length, chunks):
                left -= length
        return budget - left

    def _try_admit(self, request: Request, chunks: dict[str, ScheduledChunk]) -> bool:
        """Give a waiting request blocks and a stream, those of less important ones if need be."""
        place = rank(request)
        before = [r for r in self._waiting.values() if rank(r) < place]
        weaker = [r for r in self._running.values() if level(r) < request.priority]
        weaker.sort(key=rank, reverse=True)
        for count in range(len(weaker) + 1):
            hit = self._find_place(request, before, without=weaker[:count])
            if hit is not None:
                for victim in weaker[:count]:
                    chunks.pop(victim.request_id, None)
                    self._preempt(victim)
                self._admit(request, None if count else hit)
                return True
        return False

    def _find_place(
        self, request: Request, before: Sequence[Request], without: Sequence[Request]
    ) -> Hit | None:
        """What is cached of a request; None where it does not fit.

        That is beside those that run (some left out) and those before it.
        """
        staying = [r for r in self._running.values() if r not in without]
        if len(staying) + len(before) >= self._max_streams:
            return None
        return self._kv.find_place(
            request.known_ids if request.keeps_cache else (),
            num_tokens=request.num_known,
            spare=len(staying) + len(before),
            growing=[(r.request_id, r.num_known) for r in staying],
            before=[r.num_known for r in before],
            without=[r.request_id for r in without],
        )

    def _admit(self, request: Request, hit: Hit | None) -> None:
        """Let a waiting request run; ``hit``: what is cached of it, unless that may have changed."""
        del self._waiting[request.request_id]
        request.num_computed = (
            self._kv.allocate(request.request_id, request.known_ids, hit=hit)
            if request.keeps_cache
            else self._kv.allocate_private(request.request_id)
        )
        self._running[request.request_id] = request
        if not request.was_admitted:
            request.was_admitted = True
            request.num_cached = request.num_computed
            request.marks.prefill_start_ns = self._clock()
            request.marks.forward_at_start_ns = self._forward_total_ns
            request.cache_miss = self._history.explain(
                request.conversation_id,
                self._identity,
                request.known_ids,
                request.num_cached,
                self._kv,
            )
        elif (
            not request.num_output
        ):  # preempted in its prefill: what was lost is computed after all
            request.num_cached = min(request.num_cached, request.num_computed)

    def _plan(self, request: Request, length: int, chunks: dict[str, ScheduledChunk]) -> bool:
        """Add a chunk of the request's next ``length`` tokens, if it gets blocks for them."""
        start, end = request.num_computed, request.num_computed + length
        block_ids = self._make_room(request, end, chunks)
        if block_ids is None:
            return False
        chunks[request.request_id] = ScheduledChunk(
            request_id=request.request_id,
            token_ids=tuple(request.known_ids[start:end]),
            start=start,
            block_ids=block_ids,
            num_logits=int(end == request.num_known),
            params=request.params,
            seed=request.seed,
            sample_index=request.num_output,
            known_ids=request.known_ids,
            constraint=request.constraint,
            copy=self._kv.pending_copy(request.request_id),
            windows=self._kv.windows(request.request_id),
        )
        return True

    def _make_room(
        self, request: Request, end: int, chunks: dict[str, ScheduledChunk]
    ) -> tuple[int, ...] | None:
        """Blocks for ``end`` tokens, preempting the last in rank while they are short.

        None when the request itself had to give way, or can never fit and was ended.
        """
        while True:
            block_ids = self._kv.append(request.request_id, end, room=request.num_known)
            if block_ids is not None:
                return block_ids
            last = max(self._running.values(), key=rank)
            if last is request and len(self._running) == 1:
                self._remove(request)
                self.defer(ending(request, FinishReason.CONTEXT_FULL))
                return None
            chunks.pop(last.request_id, None)
            self._preempt(last)
            if last is request:
                return None

    def _preempt(self, request: Request) -> None:
        """Give the request's blocks back; it waits to be computed again."""
        self._kv.free(request.request_id)
        del self._running[request.request_id]
        request.num_computed = 0
        request.num_preemptions += 1
        self._waiting[request.request_id] = request

    def _take_tokens(
        self, request: Request, tokens: tuple[int, ...], output: StepOutput
    ) -> list[Event]:
        """Book one token, or several of which all but the last were guessed and computed."""
        produced, reason = append_tokens(
            request, tokens, output, eos_ids=self._eos_ids, limit=self._limit
        )
        if produced.num_accepted:
            request.num_computed += produced.num_accepted
            self._kv.commit(request.request_id, request.known_ids, request.num_computed)
        events: list[Event] = [produced]
        if reason is not None:
            self._remove(request)
            events.append(Finished(request.request_id, reason, request.timeline()))
        elif not request.keeps_cache:
            request.num_computed = 0
            self._kv.commit(request.request_id, request.known_ids, 0)
        return events

    def _remove(self, request: Request) -> None:
        if self._guessing is not None:
            self._guessing.speculator.forget(request.request_id)
        if self._running.pop(request.request_id, None) is None:
            del self._waiting[request.request_id]
            return
        self._kv.free(request.request_id)
        if request.conversation_id is not None and request.num_computed and request.keeps_cache:
            computed = request.known_ids[: request.num_computed]
            self._history.note(request.conversation_id, self._identity, computed)


def _is_behind(request: Request, other: Request) -> bool:
    """Whether there is no room for ``request`` where there was none for ``other``."""
    return rank(other) < rank(request) and request.priority <= other.priority
