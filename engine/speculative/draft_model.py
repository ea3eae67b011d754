"""A small model with the same vocabulary guesses for a large one.

Keeps a KV cache of its own, in which the same idea rules as in the engine's: computed tokens chase
known ones. A wrong guess only moves the mark back.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from typing_extensions import override

from engine.kv.manager import KVManager
from engine.metrics import Clock, now_ns
from engine.model.batch import ForwardInterruptedError
from engine.scheduling.drafting import Drafter, DraftQuery
from engine.scheduling.plan import ScheduledChunk, StepOutput, StepPlan
from engine.speculative.reading import ReadingPace

Run = Callable[[StepPlan, Callable[[], bool]], StepOutput]

_FEW = 8  # tokens that are simply caught up with; more are read piece by piece


@dataclass(slots=True)
class _Trail:
    """What the draft model has computed of one request.

    ::

        [verified ........][guesses ...)     num_computed may lie in either part
    """

    num_verified: int = 0
    num_computed: int = 0
    guesses: tuple[int, ...] = ()

    def go_back(self, known_ids: Sequence[int]) -> None:
        """Forget what was computed of guesses that did not come true.

        The last known token, too: the next guess is what follows it.
        """
        came = known_ids[self.num_verified :]
        right = 0
        for guess, token in zip(self.guesses, came, strict=False):
            if guess != token:
                break
            right += 1
        certain = min(self.num_verified + right, len(known_ids) - 1)
        self.num_computed = min(self.num_computed, certain)
        self.num_verified, self.guesses = len(known_ids), ()


class ModelDrafter(Drafter):
    """Drafts of all requests together, a token a pass.

    ``run`` computes a plan on the draft model; ``kv`` keeps its blocks. A pass takes at most
    ``budget`` tokens. A long prompt is read over several calls, in pieces that take some 30 ms for
    all requests together: its guesses wait for it, those of others do not.
    Draws use the request's own random numbers, so that both models lean to the same choice.
    """

    def __init__(
        self,
        run: Run,
        kv: KVManager,
        *,
        budget: int,
        limit: int,
        interrupted: Callable[[], bool],
        clock: Clock = now_ns,
    ) -> None:
        """``limit``: tokens of a request that the draft model can see at all."""
        self._run = run
        self._kv = kv
        self._budget = budget
        self._limit = min(limit, kv.capacity)
        self._interrupted = interrupted
        self._clock = clock
        self._reading = ReadingPace(budget)
        self._trails: dict[str, _Trail] = {}

    @override
    def propose(self, queries: Sequence[DraftQuery]) -> list[tuple[int, ...]]:
        guesses: dict[str, list[int]] = {query.request_id: [] for query in queries}
        active = [query for query in queries if query.most > 0 and self._open(query)]
        while active:
            plan = self._plan(active, guesses)
            if not plan.chunks:
                break
            start = self._clock()
            try:
                output = self._run(plan, self._interrupted)
            except ForwardInterruptedError:
                break
            self._reading.note(plan.num_tokens, self._clock() - start)
            active = self._book(plan, output, active, guesses)
        for query in queries:
            if query.request_id in self._trails:
                self._trails[query.request_id].guesses = tuple(guesses[query.request_id])
        return [tuple(guesses[query.request_id]) for query in queries]

    @override
    def forget(self, request_id: str) -> None:
        if self._trails.pop(request_id, None) is not None:
            self._kv.free(request_id)

    def _open(self, query: DraftQuery) -> bool:
        """Bring the request's trail up to date; False when it has outgrown the draft model."""
        if len(query.known_ids) + query.most > self._limit:
            self.forget(query.request_id)
            return False
        trail = self._trails.get(query.request_id)
        if trail is None:
            cached = self._kv.allocate(query.request_id, query.known_ids)
            trail = _Trail(len(query.known_ids), cached)
            self._trails[query.request_id] = trail
        else:
            trail.go_back(query.known_ids)
        return True

    def _plan(self, active: Sequence[DraftQuery], guesses: dict[str, list[int]]) -> StepPlan:
        """The next pass: those that are nearly there first, then what may be read of the others."""
        chunks = []
        budget, reading = self._budget, self._reading.chunk
        for query in sorted(active, key=lambda query: self._num_behind(query, guesses)):
            behind = self._num_behind(query, guesses)
            length = min(behind, budget, behind if behind <= _FEW else reading)
            chunk = self._chunk(query, guesses[query.request_id], length)
            if chunk is None:
                continue
            budget -= length
            if behind > _FEW:
                reading -= length
            chunks.append(chunk)
        return StepPlan(tuple(chunks))

    def _num_behind(self, query: DraftQuery, guesses: dict[str, list[int]]) -> int:
        """Tokens, guesses among them, that the draft model has not computed."""
        known = len(query.known_ids) + len(guesses[query.request_id])
        return known - self._trails[query.request_id].num_computed

    def _chunk(self, query: DraftQuery, made: Sequence[int], length: int) -> ScheduledChunk | None:
        """The request's next ``length`` tokens; None where there is no room, or none of them."""
        start = self._trails[query.request_id].num_computed
        end = start + length
        blocks = self._kv.append(query.request_id, end) if length else None
        if blocks is None:
            return None
        # copied once they are all there: only then is a token drawn, by what came before
        known = query.known_ids if end < len(query.known_ids) else [*query.known_ids, *made]
        return ScheduledChunk(
            request_id=query.request_id,
            token_ids=tuple(known[start:end]),
            start=start,
            block_ids=blocks,
            num_logits=int(end == len(query.known_ids) + len(made)),
            params=query.params,
            seed=query.seed,
            sample_index=query.sample_index + len(made),
            known_ids=known,
            windows=self._kv.windows(query.request_id),
        )

    def _book(
        self,
        plan: StepPlan,
        output: StepOutput,
        active: Sequence[DraftQuery],
        guesses: dict[str, list[int]],
    ) -> list[DraftQuery]:
        """Take the guesses in; returns the requests that can use another one."""
        by_id = {query.request_id: query for query in active}
        going_on = []
        for chunk in plan.chunks:
            query, trail = by_id[chunk.request_id], self._trails[chunk.request_id]
            trail.num_computed = chunk.start + len(chunk.token_ids)
            # only what is certain may be found by other requests
            certain = min(trail.num_computed, len(query.known_ids))
            self._kv.commit(chunk.request_id, query.known_ids, certain)
            tokens = output.sampled.get(chunk.request_id)
            if tokens is None:
                continue  # still reading its prompt: guesses come with a later call
            made = guesses[chunk.request_id]
            made.extend(tokens)
            if len(made) < query.most:
                going_on.append(query)
        return going_on
