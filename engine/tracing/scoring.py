"""The tokens of a prompt and its answer, with what the loaded model thinks of each of the answer's.

One prefill of everything, a piece at a time, between the steps of answers and only while there are
none to compute. Shares the cache's prefixes as any request does; gives its blocks up as soon as an
answer wants to be computed, and finds again what nobody took meanwhile. Runs in the engine thread.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import torch
from typing_extensions import override

from engine.api import (
    Event,
    Failure,
    InspectedToken,
    InspectionProgress,
    InspectTokens,
    SamplingParams,
    TokenChoice,
    TokenOrigin,
    TokensInspected,
)
from engine.errors import EngineError, PromptTooLongError
from engine.kv.manager import KVManager
from engine.metrics import Clock, now_ns
from engine.model.batch import ForwardInterruptedError
from engine.model.loader import LoadedModel
from engine.runner import Runner, TokenSampler
from engine.sampling.sampler import SamplingRow
from engine.scheduling.pace import PrefillPace
from engine.scheduling.plan import ScheduledChunk, StepPlan
from engine.text.marking import answer_ids, mark_prompt, reasoning_ids
from engine.text.reasoning import ReasoningTags
from engine.text.tokenizer import Tokenizer

Question = Callable[[], bool]
LOGIT_BYTES: Final = 48 << 20  # of one piece: its rows of logits
_ROWS_AT_ONCE: Final = 8 << 20  # bytes of logits that are turned into probabilities together
_TABLE: Final = "inspection"  # the requests' ids are never so
_GIVEN_UP: Final = "The tokens were given up half-way; ask for them again."


@dataclass(frozen=True, slots=True)
class Scores:
    """What a row of logits says of the token that follows it; see InspectedToken."""

    probability: float
    entropy: float
    choices: tuple[tuple[int, float], ...]


def score_rows(logits: torch.Tensor, next_ids: Sequence[int], num_choices: int) -> list[Scores]:
    """Probability of each row's next token, entropy in bits, and the most probable choices.

    ``logits``: float32 [R, vocab_size]; ``next_ids``: R ids.
    """
    scores: list[Scores] = []
    num_rows = max(1, _ROWS_AT_ONCE // (logits.shape[1] * logits.element_size()))
    for start in range(0, len(next_ids), num_rows):
        wanted = next_ids[start : start + num_rows]
        shares = torch.softmax(logits[start : start + num_rows].float(), dim=-1)
        index = torch.tensor(wanted, device=shares.device)
        taken = shares.gather(1, index.unsqueeze(1)).squeeze(1).tolist()
        bits = (torch.special.entr(shares).sum(-1) / math.log(2)).tolist()
        top = torch.topk(shares, min(num_choices, shares.shape[1]))
        for row in zip(taken, bits, top.indices.tolist(), top.values.tolist(), strict=True):
            probability, entropy, ids, values = row
            scores.append(Scores(probability, entropy, tuple(zip(ids, values, strict=True))))
    return scores


@dataclass(slots=True)
class _Job:
    """What is asked for, and how far it is.

    ``tokens``: all of them, empty until they are known; those up to ``num_scored`` are complete.
    ``ids``: theirs.
    ``num_done``: tokens in the cache.
    """

    asked: InspectTokens
    tokens: list[InspectedToken] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    num_scored: int = 0
    num_done: int = 0
    is_retokenized: bool = False

    @property
    def is_done(self) -> bool:
        return bool(self.tokens) and self.num_scored == len(self.tokens)


class TokenScorer:
    """Looks at answers' tokens on one model, first come, first served."""

    def __init__(
        self,
        model: LoadedModel,
        kv: KVManager,
        failure_of: Callable[[Exception], Failure],
        tags: ReasoningTags | None = None,
        clock: Clock = now_ns,
    ) -> None:
        """``failure_of``: what to say of an exception; raises it again when it is a fault."""
        self._model = model
        self._kv = kv
        self._failure_of = failure_of
        self._tags = tags
        self._clock = clock
        self._pace = PrefillPace(min(512, model.config.max_batch_tokens))
        self._max_rows = max(1, LOGIT_BYTES // (4 * model.info.vocab_size))
        self._jobs: deque[_Job] = deque()
        self._has_table = False

    @property
    def has_work(self) -> bool:
        """Whether a step would do something."""
        return bool(self._jobs)

    def inspect(self, asked: InspectTokens) -> None:
        """Begin to look at an answer's tokens. The end is an event."""
        self._jobs.append(_Job(asked))

    def cancel(self, ticket: int) -> None:
        """Drop what nobody waits for any more; it has no event."""
        if self._jobs and self._jobs[0].asked.ticket == ticket:
            self._end()
        self._jobs = deque(job for job in self._jobs if job.asked.ticket != ticket)

    def step(self, interrupted: Question) -> list[Event]:
        """Do one piece of the oldest job; its end is an event."""
        if not self._jobs:
            return []
        job = self._jobs[0]
        ticket = job.asked.ticket
        try:
            if not job.tokens:
                self._tokenize(job)
            elif not job.is_done:
                self._compute(job, interrupted)
        except ForwardInterruptedError:
            return []
        except (EngineError, RuntimeError, MemoryError) as error:
            failure = self._failure_of(error)
            self._end()
            return [TokensInspected(ticket, (), failure.message)]
        if not job.is_done:
            return [InspectionProgress(ticket, job.num_done, len(job.tokens))]
        self._end()
        tokens = tuple(job.tokens)
        return [TokensInspected(ticket, tokens, is_retokenized=job.is_retokenized)]

    def rest(self) -> None:
        """Give the blocks to whoever needs them; what is computed may still be found later."""
        if self._has_table:
            self._kv.free(_TABLE)
            self._has_table = False

    def abandon(self) -> list[Event]:
        """Give up what is not done: the model goes."""
        events: list[Event] = [TokensInspected(j.asked.ticket, (), _GIVEN_UP) for j in self._jobs]
        self._jobs.clear()
        self.rest()
        return events

    def _end(self) -> None:
        self._jobs.popleft()
        self.rest()

    # ------------------------------------------------------------------ tokens

    def _tokenize(self, job: _Job) -> None:
        """Find the tokens, and check that they fit."""
        asked, tokenizer = job.asked, self._model.tokenizer
        messages = asked.messages
        marked = mark_prompt(tokenizer, self._model.template, messages) if messages else []
        job.tokens = [
            InspectedToken(
                mark.token_id,
                tokenizer.token_bytes(mark.token_id),
                mark.start,
                mark.origin,
                tokenizer.is_special(mark.token_id),
            )
            for mark in marked
        ]
        job.num_scored = len(job.tokens)
        ids, job.is_retokenized = answer_ids(tokenizer, asked.answer, asked.answer_ids)
        if job.is_retokenized:
            ids = [*reasoning_ids(tokenizer, asked.reasoning, self._tags), *ids]
        start = max((mark.end for mark in marked), default=0)
        for token_id in ids:
            data = tokenizer.token_bytes(token_id)
            is_special = tokenizer.is_special(token_id)
            job.tokens.append(
                InspectedToken(token_id, data, start, TokenOrigin.ANSWER, is_special)
            )
            start += len(data)
        job.ids = [token.token_id for token in job.tokens]
        if not job.tokens:
            raise EngineError("There is no text here, and so there are no tokens to look at.")
        if not job.num_scored:
            job.num_scored = 1  # nothing before it: the model cannot say how probable it was
        self._check(job.ids)

    def _check(self, ids: Sequence[int]) -> None:
        limit = min(self._model.config.context_length, self._kv.capacity)
        if len(ids) - 1 > limit:
            raise PromptTooLongError(
                f"The prompt and its answer have {len(ids):,} tokens, and {limit:,} fit the"
                " context: load the model with a longer one to look at them.",
                needed=len(ids),
                limit=limit,
            )
        if max(ids) >= self._model.info.vocab_size:
            raise EngineError("The text has tokens that this model does not have.")

    # ------------------------------------------------------------------ scores

    def _compute(self, job: _Job, interrupted: Question) -> None:
        """Let the model read the next tokens, and note what it thinks of those that follow."""
        ids = job.ids
        if not self._has_table:
            self._open(job, ids)
        first_row = job.num_scored - 1  # the row that foretells the next token without a score
        budget = self._pace.chunk(is_shared=True)
        end = min(job.num_done + budget, len(ids) - 1)
        end = min(end, max(job.num_done, first_row) + self._max_rows)
        num_rows = max(0, end - first_row)
        blocks = self._kv.append(_TABLE, end, room=len(ids))
        if blocks is None:
            raise EngineError(
                "The cache has no room for these tokens beside what is being computed; look at"
                " them again when that has ended."
            )
        start_ns = self._clock()
        chunk = ScheduledChunk(
            request_id=_TABLE,
            token_ids=tuple(ids[job.num_done : end]),
            start=job.num_done,
            block_ids=blocks,
            num_logits=num_rows,
            params=SamplingParams(),
            seed=0,
            sample_index=0,
            known_ids=ids[:end],
            windows=self._kv.windows(_TABLE),
        )
        reader = _Reader(ids[end + 1 - num_rows : end + 1], job.asked.num_alternatives)
        Runner(self._model.decoder, self._model.storage, reader).run(
            StepPlan((chunk,)), interrupted
        )
        self._pace.note(end - job.num_done, self._clock() - start_ns)
        self._kv.commit(_TABLE, ids, end)
        job.num_done = end
        for scores in reader.scores:
            token = job.tokens[job.num_scored]
            job.tokens[job.num_scored] = _scored(token, scores, self._model.tokenizer)
            job.num_scored += 1

    def _open(self, job: _Job, ids: Sequence[int]) -> None:
        """Begin a table behind whatever of the text is cached."""
        if self._kv.has_prefix_cache:
            known = ids[: job.num_scored]
            job.num_done = self._kv.allocate(_TABLE, known, takes_tail=False)
        else:
            job.num_done = self._kv.allocate_private(_TABLE)
        self._has_table = True


class _Reader(TokenSampler):
    """Chooses nothing: it reads what the rows say of the tokens that follow."""

    def __init__(self, next_ids: Sequence[int], num_choices: int) -> None:
        self._next_ids = next_ids
        self._num_choices = num_choices
        self.scores: list[Scores] = []

    @override
    def sample(self, logits: torch.Tensor, rows: Sequence[SamplingRow], /) -> list[int]:
        self.scores = score_rows(logits, self._next_ids, self._num_choices)
        return list(self._next_ids)


def _scored(token: InspectedToken, scores: Scores, tokenizer: Tokenizer) -> InspectedToken:
    choices = (
        TokenChoice(
            token_id,
            (data := tokenizer.token_bytes(token_id)).decode("utf-8", "replace"),
            probability,
            data,
            tokenizer.is_special(token_id),
        )
        for token_id, probability in scores.choices
    )
    return InspectedToken(
        token.token_id,
        token.data,
        token.start,
        token.origin,
        token.is_special,
        scores.probability,
        scores.entropy,
        tuple(choices),
    )
