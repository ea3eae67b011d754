"""A small model with the same vocabulary guesses for a large one.

Keeps a KV cache of its own, in which the same idea rules as in the engine's: computed tokens chase
known ones. A wrong guess only moves the mark back.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from typing_extensions import override

from engine.kv.manager import KVManager
from engine.model.batch import ForwardInterruptedError
from engine.scheduling.drafting import Drafter, DraftQuery
from engine.scheduling.plan import ScheduledChunk, StepOutput, StepPlan

Run = Callable[[StepPlan, Callable[[], bool]], StepOutput]


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
        """Forget what was computed of guesses that did not come true."""
        came = known_ids[self.num_verified :]
        right = 0
        for guess, token in zip(self.guesses, came, strict=False):
            if guess != token:
                break
            right += 1
        self.num_computed = min(self.num_computed, self.num_verified + right)
        self.num_verified, self.guesses = len(known_ids), ()


class ModelDrafter(Drafter):
    """Drafts of all requests together, a token a pass.

    ``run`` computes a plan on the draft model; ``kv`` keeps its blocks. A pass takes at most
    ``budget`` tokens: a long prompt is read over several calls, and guesses wait for it.
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
    ) -> None:
        """``limit``: tokens of a request that the draft model can see at all."""
        self._run = run
        self._kv = kv
        self._budget = budget
        self._limit = min(limit, kv.capacity)
        self._interrupted = interrupted
        self._trails: dict[str, _Trail] = {}

    @override
    def propose(self, queries: Sequence[DraftQuery]) -> list[tuple[int, ...]]:
        guesses: dict[str, list[int]] = {query.request_id: [] for query in queries}
        active = [query for query in queries if query.most > 0 and self._open(query)]
        while active:
            plan = self._plan(active, guesses)
            if not plan.chunks:
                break
            try:
                output = self._run(plan, self._interrupted)
            except ForwardInterruptedError:
                break
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
        chunks = []
        budget = self._budget
        for query in active:
            trail = self._trails[query.request_id]
            made = guesses[query.request_id]
            ids = [*query.known_ids[trail.num_computed :], *made]
            ids = ids[max(0, trail.num_computed - len(query.known_ids)) :][:budget]
            end = trail.num_computed + len(ids)
            blocks = self._kv.append(query.request_id, end) if ids else None
            if blocks is None:
                continue
            budget -= len(ids)
            chunks.append(
                ScheduledChunk(
                    request_id=query.request_id,
                    token_ids=tuple(ids),
                    start=trail.num_computed,
                    block_ids=blocks,
                    num_logits=int(end == len(query.known_ids) + len(made)),
                    params=query.params,
                    seed=query.seed,
                    sample_index=query.sample_index + len(made),
                    known_ids=[*query.known_ids, *made],
                )
            )
        return StepPlan(tuple(chunks))

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
