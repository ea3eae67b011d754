"""One loaded model with its scheduler and its cache: requests in, events out, one step at a time.

Lives exactly as long as the model. Knows no threads, and no other model than its own.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from engine.api import (
    CacheMapped,
    Event,
    Failure,
    GenerationRequest,
    KVKindStats,
    LeftOut,
    Message,
    ModelInfo,
    ModelOptions,
    PromptTokenized,
)
from engine.config import KVGeometry
from engine.errors import EngineError, InvalidRequestError, PromptTooLongError
from engine.kv.archive import CacheArchive
from engine.kv.compressed import CompressedStorage
from engine.kv.compressed_geometry import CompressedGeometry
from engine.kv.manager import KVManager, ignore_blocks
from engine.kv.mapping import CacheMapper
from engine.kv.reuse import CacheIdentity, ReuseHistory
from engine.kv.transfer import BlockStorage
from engine.kv.ways import cache_ways
from engine.metrics import Clock, Marks
from engine.model.batch import ForwardInterruptedError
from engine.model.loader import LoadedModel
from engine.scheduling.drafting import Speculator
from engine.scheduling.pace import PrefillPace
from engine.scheduling.plan import StepOutput, StepPlan
from engine.scheduling.request import Request
from engine.scheduling.scheduler import Scheduler
from engine.speculative.opening import OpenedDraft
from engine.text.grammar import JsonGrammars
from engine.text.overflow import fit_messages
from engine.text.prompt import answer_stream, encode_request
from engine.text.reasoning import find_tags
from engine.text.template import Renderer, encode_chat
from engine.text.timed import TimedTemplate, TimedText
from engine.text.whereabouts import message_at
from engine.tracing.profiling import Profiler
from engine.tracing.scoring import TokenScorer

Question = Callable[[], bool]
Run = Callable[[StepPlan, Question], StepOutput]
FailureOf = Callable[[Exception], Failure]

_NOTHING = StepPlan(())
_NO_OUTPUT = StepOutput({}, 0, 0)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a session shares with those before and after it.

    ``failure_of``: the failure to report for an exception; raises it again when it is a fault.
    ``load_wait_ns``: how long of a span (two times, ns) was spent on loading.
    """

    history: ReuseHistory
    identity: CacheIdentity
    clock: Clock
    failure_of: FailureOf
    load_wait_ns: Callable[[int, int], int]


class ModelSession:
    """A loaded model and everything that lives exactly as long. Not thread-safe: one owner."""

    def __init__(
        self, model: LoadedModel, run: Run, options: ModelOptions, around: Surroundings
    ) -> None:
        self.model = model
        self._run = run
        self._around = around
        config = model.config
        # a block of a compressed cache is worth nothing without its request's state
        is_whole = hasattr(model.storage, "block_tensors") and not isinstance(
            model.storage, CompressedStorage
        )
        storage: BlockStorage | None = model.storage if is_whole else None
        self.kv = KVManager(
            num_blocks=config.kv.pools,
            block_size=config.kv.block_size,
            prefix_cache=config.prefix_cache and config.kv_cache,
            copies_tails=storage is not None,
            max_cached_blocks=_max_cached_blocks(options, config.kv),
            on_free=_on_free(model),
        )
        self.scheduler = Scheduler(
            config,
            self.kv,
            eos_ids=model.tokenizer.eos_ids,
            pace=PrefillPace(config.max_batch_tokens, is_adaptive=options.adaptive_chunks),
            memory=(around.history, around.identity),
            clock=around.clock,
        )
        self.draft_bytes = 0
        self._speculator: Speculator | None = None
        self._grammars = JsonGrammars(model.tokenizer)
        self._tags = find_tags(model.template)
        self.archive = CacheArchive(self.kv, storage, around.history, around.identity)
        self._mapper = CacheMapper(self.kv, config.kv, around.history, around.identity)
        self.profiler = Profiler(model, self.kv, around.failure_of)
        self.scorer = TokenScorer(model, self.kv, around.failure_of, self._tags)

    def guess_with(self, draft: OpenedDraft) -> None:
        """Let every answer be guessed ahead by ``draft``."""
        self.draft_bytes = draft.num_bytes
        self._speculator = draft.speculator
        self.scheduler.speculate(draft.speculator)

    @property
    def info(self) -> ModelInfo:
        """The loaded model."""
        return self.model.info

    @property
    def is_guessing_at_rest(self) -> bool:
        """Whether guesses do not pay at present."""
        return self._speculator is not None and self._speculator.is_at_rest

    @property
    def has_work(self) -> bool:
        """Whether a step would do something."""
        return (
            self.scheduler.has_work
            or self.archive.has_work
            or self.profiler.has_work
            or self.scorer.has_work
        )

    @property
    def kv_kinds(self) -> tuple[KVKindStats, ...]:
        """How the cache of each kind of layers is used."""
        geometry = self.model.config.kv
        other = "compressed" if isinstance(geometry, CompressedGeometry) else "full"
        return tuple(
            KVKindStats(
                "window" if use.window else other,
                part.num_layers,
                use.window or None,
                use.num_live,
                use.num_cached,
                use.num_blocks,
                part.bytes_per_block,
            )
            for use, part in zip(self.kv.uses, geometry.parts, strict=True)
        )

    def submit(self, request: GenerationRequest) -> list[Event]:
        """Turn the prompt into tokens and queue it. Raises EngineError."""
        if request.request_id in self.scheduler.request_ids:
            raise InvalidRequestError(
                "This answer is already being computed.", reason="the request's id is in use"
            )
        events: list[Event] = []
        if request.conversation_id is not None and not self.scheduler.has_work:
            events = self.archive.finish(request.conversation_id)  # nobody waits for it but this
        model, clock = self.model, self._around.clock
        template = TimedTemplate(model.template, clock)
        start = clock()
        prompt_ids, left_out = self._prompt(request, template)
        marks = Marks(
            sent_ns=request.sent_ns,
            tokenize_start_ns=start,
            tokenize_end_ns=clock(),
            load_wait_ns=self._around.load_wait_ns(request.sent_ns, start),
            template_ns=template.spent_ns,
        )
        text = answer_stream(request, model.tokenizer, model.template, self._tags)
        seed = request.params.seed
        queued = Request.of_prompt(
            request.request_id,
            prompt_ids,
            params=request.params,
            seed=secrets.randbits(63) if seed is None else seed,
            text=TimedText(text, marks.note_text, clock),
            marks=marks,
        )
        queued.conversation_id = request.conversation_id
        queued.priority = request.priority
        queued.left_out = left_out
        queued.locate = partial(
            message_at,
            prompt_ids=prompt_ids,
            messages=request.messages,
            left_out=left_out,
            encode=partial(encode_chat, model.tokenizer, model.template),
        )
        queued.keeps_cache, queued.guess_ahead = request.kv_cache, request.guess_ahead
        if (schema := request.params.json_schema) is not None:
            queued.constraint = self._grammars.constrain(schema)
        self.scheduler.add(queued)
        return [*events, PromptTokenized(request.request_id, len(prompt_ids), left_out)]

    def step(self, interrupted: Question) -> list[Event]:
        """Compute one step of all requests, then a piece of what is to be kept or restored.

        A failing request ends, and the others go on. While there is none, tokens are looked at,
        and the model is profiled, where that is asked for.
        """
        if self.scheduler.has_work:
            self.scorer.rest()
        events = self._compute(interrupted)
        if self.archive.has_work:
            events = [*events, *self.archive.step()]
        if self.scheduler.has_work:
            return events
        if self.scorer.has_work:
            return [*events, *self.scorer.step(interrupted)]
        return [*events, *self.profiler.step(interrupted)]

    def abandon(self) -> list[Event]:
        """Give up what is not done and no request's: the model goes."""
        return [*self.archive.abandon(), *self.profiler.abandon(), *self.scorer.abandon()]

    def end_all(self, end: Callable[[str], list[Event]]) -> list[Event]:
        """End every request through ``end``, after what is still to be said."""
        events = self._unsent()
        return events + [e for request_id in self.scheduler.request_ids for e in end(request_id)]

    def map_cache(self, ticket: int, num_tokens: int) -> CacheMapped:
        """Whose the blocks are, and what ``num_tokens`` would take in other caches."""
        ways = cache_ways(self.model.config.kv, self.info.num_heads, num_tokens)
        groups = self._mapper.groups(self.scheduler.conversations)
        return CacheMapped(ticket, groups, ways, self._mapper.is_complete)

    def count_tokens(self, text: str, messages: Sequence[Message]) -> tuple[int, int | None]:
        """Tokens of ``text`` alone, and of the rendered messages (None: they cannot be)."""
        tokenizer = self.model.tokenizer
        prompt = None
        if messages:
            try:
                prompt = len(encode_chat(tokenizer, self.model.template, messages))
            except EngineError:  # whoever sends them is told
                prompt = None
        return len(tokenizer.encode(text, parse_special=False)), prompt

    def _prompt(
        self, request: GenerationRequest, template: Renderer
    ) -> tuple[list[int], LeftOut | None]:
        model, limit = self.model, self.scheduler.limit
        prompt_ids = encode_request(
            request, model.tokenizer, template, vocab_size=model.info.vocab_size
        )
        left_out = None
        if request.messages:
            prompt_ids, left_out = fit_messages(
                request,
                prompt_ids,
                limit,
                lambda messages: encode_chat(model.tokenizer, template, messages),
            )
        if len(prompt_ids) >= limit:
            raise _too_long(len(prompt_ids), limit - 1)
        return prompt_ids, left_out

    def _compute(self, interrupted: Question) -> list[Event]:
        plan = self.scheduler.schedule()
        if not plan.chunks:
            return self._unsent()
        try:
            output = self._run(plan, interrupted)
        except ForwardInterruptedError:
            return self._unsent()
        except (EngineError, RuntimeError, MemoryError) as error:
            return self._step_apart(plan, self._around.failure_of(error), interrupted)
        return self.scheduler.update(plan, output)

    def _step_apart(self, plan: StepPlan, failure: Failure, interrupted: Question) -> list[Event]:
        """After a failed step, run its chunks one by one, so that only the guilty ones end."""
        scheduler = self.scheduler
        if len(plan.chunks) == 1:
            return scheduler.fail(plan.chunks[0].request_id, failure)
        for chunk in plan.chunks:
            alone = StepPlan((chunk,))
            try:
                output = self._run(alone, interrupted)
            except ForwardInterruptedError:
                break
            except (EngineError, RuntimeError, MemoryError) as error:
                failed = scheduler.fail(chunk.request_id, self._around.failure_of(error))
                scheduler.defer(failed)
            else:
                scheduler.defer(scheduler.update(alone, output))
        return self._unsent()

    def _unsent(self) -> list[Event]:
        """Events that no step has returned yet."""
        return self.scheduler.update(_NOTHING, _NO_OUTPUT)


def _on_free(model: LoadedModel) -> Callable[[Sequence[int]], None]:
    """Who keeps something of a request beside its blocks."""
    storage = model.storage
    return storage.release if isinstance(storage, CompressedStorage) else ignore_blocks


def _max_cached_blocks(options: ModelOptions, geometry: KVGeometry) -> int | None:
    if options.prefix_cache_bytes is None:
        return None
    return max(0, options.prefix_cache_bytes) // geometry.bytes_per_block


def _too_long(needed: int, limit: int) -> PromptTooLongError:
    return PromptTooLongError(
        f"The prompt has {needed:,} tokens, and {limit:,} fit. It was not cut: shorten it, or "
        "raise the context length in the model settings.",
        needed=needed,
        limit=limit,
    )
