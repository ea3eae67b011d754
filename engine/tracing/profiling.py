"""Profiles of the loaded model: real passes over a cache of their own, timed part by part.

A piece at a time, between the steps of answers and only while there are none to compute; nothing
of an answer changes. Runs in the engine thread. What a step of the engine does around its pass
(scheduling, text) is in no profile: traces of answers show that.
"""

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import torch
from typing_extensions import override

from engine.api import Event, Failure, SamplingParams
from engine.api.profile import ModelProfiled, Part, PassProfile
from engine.errors import EngineError
from engine.kv.manager import KVManager
from engine.metrics import Clock, now_ns
from engine.model.batch import ForwardInterruptedError
from engine.model.loader import LoadedModel
from engine.model.part_clock import PartClock, layer_times, timed
from engine.runner import Runner, TokenSampler
from engine.sampling.sampler import Sampler, SamplingRow
from engine.scheduling.plan import ScheduledChunk, StepPlan

Question = Callable[[], bool]
DECODE_STEPS: Final = 16
_CHUNK: Final = 256  # tokens of a prompt in one piece
_TABLE: Final = "profile"  # the requests' ids are never so
_GIVEN_UP: Final = "The profile was given up half-way; ask for it again."


@dataclass(slots=True)
class _Job:
    """What is asked for, and how far it is.

    ``num_done``: tokens in the cache; those of the prompt that is timed first, up to the context,
    then one a step. ``prefill`` and ``decode``: as in ``PartClock.table``.
    """

    ticket: int
    context: int
    prompt_tokens: int
    num_steps: int
    token_ids: list[int]
    is_prefilled: bool = False
    num_done: int = 0
    num_decoded: int = -1  # the first step is not counted: it meets cold caches
    prefill: list[int] = field(default_factory=list)
    decode: list[int] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return self.num_decoded == self.num_steps

    def profile(self) -> PassProfile:
        return PassProfile(
            self.context,
            self.prompt_tokens,
            self.num_steps,
            layer_times(self.decode, self.num_steps),
            layer_times(self.prefill, 1),
        )


class Profiler:
    """Profiles one model, first come, first served."""

    def __init__(
        self,
        model: LoadedModel,
        kv: KVManager,
        failure_of: Callable[[Exception], Failure],
        clock: Clock = now_ns,
    ) -> None:
        """``failure_of``: what to say of an exception; raises it again when it is a fault."""
        self._model = model
        self._kv = kv
        self._failure_of = failure_of
        self._clock = clock
        self._jobs: deque[_Job] = deque()
        self._has_table = False

    @property
    def has_work(self) -> bool:
        """Whether a step would do something."""
        return bool(self._jobs)

    def profile(
        self, ticket: int, context: int, prompt_tokens: int, num_steps: int = DECODE_STEPS
    ) -> None:
        """Begin to profile; both lengths are cut to what fits. Its end is an event."""
        most = min(self._model.config.context_length, self._kv.capacity) - num_steps - 1
        context, prompt_tokens = (max(1, min(n, most)) for n in (context, prompt_tokens))
        rng = random.Random(0)  # noqa: S311 - tokens to measure with, not secrets
        vocabulary = range(self._model.info.vocab_size)
        ids = rng.choices(vocabulary, k=max(context, prompt_tokens) + num_steps + 1)
        self._jobs.append(_Job(ticket, context, prompt_tokens, num_steps, ids))

    def cancel(self, ticket: int) -> None:
        """Drop a profile that nobody waits for any more; it has no event."""
        if self._jobs and self._jobs[0].ticket == ticket:
            self._end()
        self._jobs = deque(job for job in self._jobs if job.ticket != ticket)

    def step(self, interrupted: Question) -> list[Event]:
        """Do one pass of the oldest profile; its end is an event."""
        if not self._jobs:
            return []
        job = self._jobs[0]
        try:
            self._do_piece(job, interrupted)
        except ForwardInterruptedError:
            return []
        except (EngineError, RuntimeError, MemoryError) as error:
            failure = self._failure_of(error)  # raises a fault of ours; then the job is abandoned
            self._end()
            return [ModelProfiled(job.ticket, None, failure.message)]
        if not job.is_done:
            return []
        self._end()
        return [ModelProfiled(job.ticket, job.profile())]

    def abandon(self) -> list[Event]:
        """Give up what is not done: the model goes."""
        events: list[Event] = [ModelProfiled(job.ticket, None, _GIVEN_UP) for job in self._jobs]
        self._jobs.clear()
        self._close()
        return events

    def _end(self) -> None:
        self._jobs.popleft()
        self._close()

    def _close(self) -> None:
        if self._has_table:
            self._kv.free(_TABLE)
            self._has_table = False

    def _do_piece(self, job: _Job, interrupted: Question) -> None:
        if not job.is_prefilled:
            count = min(
                _CHUNK, self._model.config.max_batch_tokens, job.prompt_tokens - job.num_done
            )
            table = self._run(job, count, interrupted)
            job.prefill = _added(job.prefill, table)
            job.is_prefilled = job.num_done == job.prompt_tokens
            if job.is_prefilled and job.context < job.prompt_tokens:
                self._close()  # the steps have fewer tokens behind them: a cache from the start
                job.num_done = 0
        elif job.num_done < job.context:
            count = min(_CHUNK, self._model.config.max_batch_tokens, job.context - job.num_done)
            self._run(job, count, interrupted)
        else:
            table = self._run(job, 1, interrupted)
            if job.num_decoded >= 0:
                job.decode = _added(job.decode, table)
            job.num_decoded += 1

    def _run(self, job: _Job, count: int, interrupted: Question) -> Sequence[int]:
        """Compute the next tokens; returns what the pass took as in ``PartClock.table``."""
        end = job.num_done + count
        chunk = ScheduledChunk(
            request_id=_TABLE,
            token_ids=tuple(job.token_ids[job.num_done : end]),
            start=job.num_done,
            block_ids=self._blocks(job, end),
            windows=self._kv.windows(_TABLE),
            num_logits=int(job.is_prefilled or end == job.prompt_tokens),
            params=SamplingParams(),
            seed=0,
            sample_index=0,
            known_ids=job.token_ids[:end],
        )
        clock = PartClock(self._model.info.num_layers, self._pass_clock())
        decoder = timed(self._model.decoder, clock)
        runner = Runner(decoder, self._model.storage, _TimedSampler(Sampler(), clock))
        clock.start()
        runner.run(StepPlan((chunk,)), interrupted)
        clock.lap(None, Part.OTHER)
        job.num_done = end
        self._kv.commit(_TABLE, job.token_ids, end)  # windows give back what is behind them
        return clock.table

    def _blocks(self, job: _Job, end: int) -> tuple[int, ...]:
        if not self._has_table:
            self._kv.allocate_private(_TABLE)
            self._has_table = True
        blocks = self._kv.append(_TABLE, end, room=len(job.token_ids))
        if blocks is None:
            raise EngineError(
                "The cache has no room for a profile beside the answers; try again when they have"
                " ended, or with a shorter context."
            )
        return blocks

    def _pass_clock(self) -> Clock:
        """A clock that waits for what the device has still to do."""
        if self._model.config.device.value != "cuda":
            return self._clock

        def read() -> int:
            torch.cuda.synchronize()
            return self._clock()

        return read


class _TimedSampler(TokenSampler):
    """Choices, which are timed."""

    def __init__(self, inner: TokenSampler, clock: PartClock) -> None:
        self._inner = inner
        self._clock = clock

    @override
    def sample(self, logits: torch.Tensor, rows: Sequence[SamplingRow], /) -> list[int]:
        self._clock.lap(None, Part.OTHER)
        chosen = self._inner.sample(logits, rows)
        self._clock.lap(None, Part.SAMPLING)
        return chosen


def _added(total: list[int], table: Sequence[int]) -> list[int]:
    return [a + b for a, b in zip(total, table, strict=True)] if total else list(table)
