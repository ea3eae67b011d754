"""Guesses at what follows, as the scheduler handles them: asked for, given room, accounted for.

Knows requests and their blocks; what is guessed, and how many guesses pay, is the speculator's.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from engine.kv.manager import KVManager
from engine.scheduling.drafting import DraftQuery, Speculator
from engine.scheduling.plan import ScheduledChunk
from engine.scheduling.request import Request

Drafts = Mapping[str, tuple[int, ...]]


class Guessing:
    """The guesses of one scheduler's requests, from ``speculator``."""

    def __init__(self, kv: KVManager, speculator: Speculator) -> None:
        self._kv = kv
        self.speculator = speculator

    def ask(self, answers: Sequence[Request], limit: int) -> dict[str, tuple[int, ...]]:
        """Guesses by request; ``limit`` is the most tokens that a request can ever have."""
        queries = [
            DraftQuery(
                request.request_id,
                request.known_ids,
                request.params,
                request.seed,
                request.num_output,
                request.most_guesses(limit),
            )
            for request in answers
            if request.keeps_cache
        ]
        if not queries:
            return {}
        drafts = self.speculator.drafts(queries)
        return {q.request_id: draft for q, draft in zip(queries, drafts, strict=True) if draft}

    def append(
        self,
        drafts: Drafts,
        chunks: dict[str, ScheduledChunk],
        budget: int,
        running: Collection[Request],
    ) -> None:
        """Let ``chunks`` verify ``drafts``, at most ``budget`` tokens, where there is room.

        Nobody gives way to a guess: not in this step, and not in the next for want of blocks.
        """
        by_id = {request.request_id: request for request in running}
        for request_id, draft in drafts.items():
            chunk, guesses = chunks.get(request_id), draft[:budget]
            if chunk is None or not chunk.num_logits or not guesses:
                continue  # it had to give way meanwhile, and may be read anew
            request = by_id[request_id]
            end = request.num_known + len(guesses)
            if not self._can_spare(request, end, running):
                continue
            blocks = self._kv.append(request_id, end)
            assert blocks is not None, "enough are available"
            chunks[request_id] = replace(
                chunk,
                token_ids=chunk.token_ids + guesses,
                block_ids=blocks,
                windows=self._kv.windows(request_id),
                num_logits=1 + len(guesses),
                num_drafts=len(guesses),
            )
            budget -= len(guesses)

    def note_step(
        self, request: Request, chunk: ScheduledChunk, tokens: Sequence[int], sampled_ns: int
    ) -> None:
        """The request's ``chunk`` gave ``tokens``, all but the last of them guessed rightly."""
        request.note_step(sampled_ns, chunk.num_drafts, self.speculator.plain_step_ns())
        if chunk.num_drafts:
            self.speculator.note_outcome(request.request_id, chunk.num_drafts, len(tokens) - 1)

    def _can_spare(self, request: Request, end: int, running: Collection[Request]) -> bool:
        """Whether ``request`` may take blocks for ``end`` tokens and leave what others need."""
        others = (
            (other.request_id, other.num_known + 1) for other in running if other is not request
        )
        return self._kv.can_append(request.request_id, end, others)
