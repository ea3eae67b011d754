"""The engine without its thread: one model, one scheduler, one synchronous step.

Every method that changes something returns the events that follow from it, in order (a load, which
takes long, tells some of them on the way); a failure that a person can act on is an event, too.
Knows no threads and no queues.
"""

import gc
import re
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from engine.api import (
    CacheMapped,
    CacheRestored,
    CacheSaved,
    Device,
    EngineStats,
    Event,
    Failure,
    GenerationRequest,
    InspectTokens,
    KVKindStats,
    LoadProgress,
    LoadStage,
    Message,
    ModelFailed,
    ModelInfo,
    ModelOptions,
    ModelProfiled,
    ModelReady,
    ModelUnloaded,
    RequestFailed,
    TokensInspected,
)
from engine.devices import read_gpu_memory
from engine.errors import (
    EngineError,
    LoadCancelledError,
    ModelNotLoadedError,
    OutOfMemoryError,
)
from engine.kv.reuse import CacheIdentity, ReuseHistory
from engine.metrics import Clock, MemoryGauge, now_ns, overlap_ns
from engine.model.batch import ForwardInterruptedError
from engine.model.loader import LoadedModel, load_model
from engine.model.weight_cache import source_key
from engine.runner import Runner
from engine.sampling.params import check_params
from engine.sampling.sampler import Sampler
from engine.session import ModelSession, Question, Run, Surroundings
from engine.speculative.opening import OpenedDraft, open_draft

Progress = Callable[[LoadProgress], None]
Listener = Callable[[Event], None]
ModelLoader = Callable[[ModelOptions, Progress, Question], LoadedModel]

_OUT_OF_MEMORY = re.compile(r"out of memory|allocate memory|not enough memory", re.IGNORECASE)
_BYTES_ASKED = re.compile(r"tried to allocate (\d+) bytes")
# Free memory over a model file's size from which nothing is gained by dropping the old model first:
# weights kept at twice the file's precision, their cache, and as much again.
_PLENTY = 4


def never() -> bool:
    """Nothing interrupts."""
    return False


def _say_nothing(_event: Event) -> None:
    return


def make_runner(model: LoadedModel) -> Run:
    """The way from a plan to tokens on the model's own device."""
    return Runner(model.decoder, model.storage, Sampler()).run


class EngineCore:
    """One model at a time, any number of requests. Not thread-safe: one owner."""

    def __init__(
        self,
        load: ModelLoader = load_model,
        make_runner: Callable[[LoadedModel], Run] = make_runner,
        clock: Clock = now_ns,
        *,
        starting_ns: int | None = None,
    ) -> None:
        """``starting_ns``: since when the engine starts; waiting for that counts as loading."""
        self._load = load
        self._make_runner = make_runner
        self._clock = clock
        self._memory = MemoryGauge()
        self._runtime_bytes = self._memory.read().process  # everything is imported, and no model
        self._session: ModelSession | None = None
        self._history = ReuseHistory()
        self._num_loads = 0
        self._interrupted: Question = never
        self._load_spans: deque[tuple[int, int]] = deque(maxlen=16)
        if starting_ns is not None:
            self._load_spans.append((starting_ns, clock()))

    @property
    def info(self) -> ModelInfo | None:
        """The loaded model; None while there is none."""
        return None if self._session is None else self._session.model.info

    @property
    def kv_kinds(self) -> tuple[KVKindStats, ...]:
        """How the cache of each kind of layers is used; empty while there is no model."""
        return () if self._session is None else self._session.kv_kinds

    @property
    def has_work(self) -> bool:
        """Whether ``step`` has something to compute."""
        return self._session is not None and self._session.has_work

    def load(
        self,
        options: ModelOptions,
        on_event: Listener = _say_nothing,
        is_cancelled: Question = never,
    ) -> list[Event]:
        """Load a model in place of the present one; ends with ModelReady or ModelFailed.

        The present model stays until the new one is complete; where memory is not plentiful, only
        until the new one's header passed. Its requests end as CANCELLED when it goes: where that is
        before the end of the load, ``on_event`` hears of it at once, as of all progress.
        """

        def let_go() -> None:
            for event in self._drop():
                on_event(event)

        def watch(progress: LoadProgress) -> None:
            if progress.stage is LoadStage.TOKENIZER and not self._is_room_plentiful(options.path):
                let_go()
            on_event(progress)

        start = self._clock()
        try:
            try:
                model, draft = self._load_all(options, watch, is_cancelled)
            except OutOfMemoryError:
                if self._session is None:
                    raise
                let_go()
                model, draft = self._load_all(options, watch, is_cancelled)
        except ForwardInterruptedError:  # in its warm-up
            failure = Failure.of(LoadCancelledError("Loading was stopped."))
            return [ModelFailed(options.path, failure, self.info)]
        except (EngineError, RuntimeError, MemoryError) as error:
            return [ModelFailed(options.path, self._failure_of(error), self.info)]
        finally:
            self._load_spans.append((start, self._clock()))
        events = self._drop()
        self._session = self._open(model, options)
        if draft is not None:
            self._session.guess_with(draft)
        return [*events, ModelReady(model.info)]

    def unload(self) -> list[Event]:
        """Drop the model; its requests end as CANCELLED."""
        return [*self._drop(), ModelUnloaded()]

    def submit(self, request: GenerationRequest) -> list[Event]:
        """Turn the prompt into tokens and queue it: PromptTokenized, or RequestFailed."""
        try:
            if self._session is None:
                raise _no_model()
            check_params(request.params)
            return self._session.submit(request)
        except EngineError as error:
            return [RequestFailed(request.request_id, Failure.of(error))]

    def cancel(self, request_id: str) -> list[Event]:
        """End one request with the text it has; nothing for an unknown id."""
        return [] if self._session is None else self._session.scheduler.cancel(request_id)

    def cancel_all(self) -> list[Event]:
        """End every request with the text it has."""
        return [] if self._session is None else self._session.end_all(self.cancel)

    def fail(self, request_id: str, failure: Failure) -> list[Event]:
        """End one request by a failure; nothing for an unknown id."""
        return [] if self._session is None else self._session.scheduler.fail(request_id, failure)

    def fail_all(self, failure: Failure) -> list[Event]:
        """End every request by one failure."""
        if self._session is None:
            return []
        ended = self._session.end_all(lambda request_id: self.fail(request_id, failure))
        return [*ended, *self._session.abandon()]

    def prioritise(self, request_id: str, priority: int) -> None:
        """Change a request's priority; nothing for an unknown id."""
        if self._session is not None:
            self._session.scheduler.prioritise(request_id, priority)

    def count_tokens(
        self, text: str, messages: tuple[Message, ...] = ()
    ) -> tuple[int | None, int | None]:
        """Tokens of ``text`` alone and of the rendered ``messages``; None: not known."""
        if self._session is None:
            return None, None
        return self._session.count_tokens(text, messages)

    def save_cache(self, conversation_id: str, path: str) -> list[Event]:
        """Begin to keep a conversation's cache in a file; steps do it. Its end is an event."""
        if self._session is None:
            return [CacheSaved(conversation_id, 0, 0)]
        return self._session.archive.save(conversation_id, Path(path))

    def restore_cache(self, conversation_id: str, path: str) -> list[Event]:
        """Begin to bring a conversation's cache back; steps do it. Its end is an event."""
        if self._session is None:
            return [CacheRestored(conversation_id, 0)]
        return self._session.archive.restore(conversation_id, Path(path))

    def map_cache(self, ticket: int, num_tokens: int) -> CacheMapped:
        """Whose the blocks of the cache are, and what ``num_tokens`` would take in other caches."""
        if self._session is None:
            return CacheMapped(ticket, ())
        return self._session.map_cache(ticket, num_tokens)

    def profile(self, ticket: int, context: int, prompt_tokens: int) -> list[Event]:
        """Begin to look where the model's time goes; steps do it. Its end is an event."""
        if self._session is None:
            return [ModelProfiled(ticket, None, str(_no_model()))]
        self._session.profiler.profile(ticket, context, prompt_tokens)
        return []

    def inspect_tokens(self, asked: InspectTokens) -> list[Event]:
        """Begin to look at an answer's tokens; steps do it. Its end is an event."""
        if self._session is None:
            return [TokensInspected(asked.ticket, (), str(_no_model()))]
        self._session.scorer.inspect(asked)
        return []

    def cancel_inspection(self, ticket: int) -> None:
        """Drop what ``inspect_tokens`` began; nothing for an unknown ticket."""
        if self._session is not None:
            self._session.scorer.cancel(ticket)

    def step(self, interrupted: Question = never) -> list[Event]:
        """Compute one step of all requests.

        ``interrupted`` is asked between layers; once true, the step is given up and nothing of
        it counts. A failing request ends, and the others go on.
        """
        self._interrupted = interrupted
        return [] if self._session is None else self._session.step(interrupted)

    def stats(self) -> EngineStats:
        """All gauges, now."""
        memory = self._memory.read()
        session = self._session
        empty = EngineStats(
            at_ns=self._clock(),
            kv_live_tokens=0,
            kv_live_blocks=0,
            kv_cached_blocks=0,
            kv_total_blocks=0,
            kv_block_bytes=0,
            num_running=0,
            num_waiting=0,
            weights_bytes=0,
            kv_allocated_bytes=0,
            process_bytes=memory.process,
            other_programs_bytes=memory.other_programs,
            total_memory_bytes=memory.total,
            runtime_bytes=self._runtime_bytes,
        )
        if session is None:
            return empty
        config = session.model.config
        geometry = config.kv
        return replace(
            empty,
            kv_live_tokens=session.kv.num_live_tokens,
            kv_live_blocks=session.kv.num_live_blocks,
            kv_cached_blocks=session.kv.num_cached_blocks,
            kv_total_blocks=session.kv.num_blocks,
            kv_block_bytes=geometry.bytes_per_block,
            num_running=session.scheduler.num_running,
            num_waiting=session.scheduler.num_waiting,
            weights_bytes=session.model.decoder.weights_bytes + session.draft_bytes,
            kv_allocated_bytes=geometry.total_bytes,
            kv_kinds=session.kv_kinds,
            is_guessing_at_rest=session.is_guessing_at_rest,
            gpu=read_gpu_memory(torch.cuda) if config.device is Device.CUDA else None,
        )

    def _load_all(
        self, options: ModelOptions, watch: Progress, is_cancelled: Question
    ) -> tuple[LoadedModel, OpenedDraft | None]:
        """The model, and what guesses for it."""
        model = self._load(options, watch, is_cancelled)
        draft = open_draft(
            options,
            model,
            lambda wanted: self._load(wanted, watch, is_cancelled),
            self._make_runner,
            self._is_interrupted,
        )
        if draft is not None:
            model = replace(model, info=replace(model.info, draft=draft.name))
        return model, draft

    def _is_interrupted(self) -> bool:
        """Whether the present step is no longer wanted."""
        return self._interrupted()

    def _open(self, model: LoadedModel, options: ModelOptions) -> ModelSession:
        self._num_loads += 1
        around = Surroundings(
            history=self._history,
            identity=_identity(model, self._num_loads),
            clock=self._clock,
            failure_of=self._failure_of,
            load_wait_ns=self._load_wait_ns,
        )
        return ModelSession(model, self._make_runner(model), options, around)

    def _drop(self) -> list[Event]:
        """Let the model go and give its memory back."""
        events = self.cancel_all()
        if self._session is not None:
            events += self._session.abandon()
            self._session = None
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        return events

    def _is_room_plentiful(self, path: str) -> bool:
        """Whether the new model can be sized as if the present one were not there."""
        session = self._session
        if session is None:
            return True
        available = self._memory.read().available
        if session.model.config.device is Device.CUDA:
            available = torch.cuda.mem_get_info()[0]
        present = session.model.decoder.weights_bytes + session.model.config.kv.total_bytes
        return available > present + _PLENTY * _size_on_disk(Path(path).expanduser())

    def _load_wait_ns(self, sent_ns: int, until_ns: int) -> int:
        return sum(overlap_ns(sent_ns, until_ns, start, end) for start, end in self._load_spans)

    def _failure_of(self, error: Exception) -> Failure:
        """The failure to report for ``error``; raises it again when it is a fault of ours."""
        if isinstance(error, EngineError):
            return Failure.of(error)
        if isinstance(error, MemoryError) or _OUT_OF_MEMORY.search(str(error)):
            asked = _BYTES_ASKED.search(str(error))
            return Failure.of(
                OutOfMemoryError(
                    "Memory ran out, and what was there before was kept. Close other programs or "
                    "choose a shorter context, then try again.",
                    needed=int(asked[1]) if asked else 0,
                    available=self._memory.read().available,
                )
            )
        raise error


def _no_model() -> ModelNotLoadedError:
    return ModelNotLoadedError("No model is loaded. Choose a model, then send again.")


def _size_on_disk(path: Path) -> int:
    if path.is_dir():
        return sum(file.stat().st_size for file in path.iterdir() if file.is_file())
    return path.stat().st_size if path.is_file() else 0


def _identity(model: LoadedModel, load: int) -> CacheIdentity:
    """What the model's keys and values depend on."""
    info, path = model.info, Path(model.info.path).expanduser()
    key = source_key(path) if path.exists() else info.path
    chosen = "calibrated " if info.is_calibrated else ""
    precision = f"{chosen}{info.precision.value} weights, {info.kv_dtype} cache"
    return CacheIdentity(key, precision, load, model.rope or "")
