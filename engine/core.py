"""The engine without its thread: one model, one scheduler, one synchronous step.

Every method that changes something returns the events that follow from it, in order (a load, which
takes long, tells some of them on the way); a failure that a person can act on is an event, too.
Knows no threads and no queues.
"""

import gc
import re
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from engine.api import (
    Device,
    EngineStats,
    Event,
    Failure,
    GenerationRequest,
    LoadProgress,
    LoadStage,
    ModelFailed,
    ModelInfo,
    ModelOptions,
    ModelReady,
    ModelUnloaded,
    PromptTokenized,
    RequestFailed,
)
from engine.errors import (
    EngineError,
    InvalidRequestError,
    LoadCancelledError,
    ModelNotLoadedError,
    OutOfMemoryError,
    PromptTooLongError,
)
from engine.kv.manager import KVManager
from engine.metrics import Clock, Marks, MemoryGauge, now_ns, overlap_ns
from engine.model.batch import ForwardInterruptedError
from engine.model.loader import LoadedModel, load_model
from engine.runner import Runner
from engine.sampling.params import check_params
from engine.sampling.sampler import Sampler
from engine.scheduling.plan import StepOutput, StepPlan
from engine.scheduling.request import Request
from engine.scheduling.scheduler import Scheduler
from engine.text.prompt import answer_stream, encode_request

Progress = Callable[[LoadProgress], None]
Listener = Callable[[Event], None]
Question = Callable[[], bool]
ModelLoader = Callable[[ModelOptions, Progress, Question], LoadedModel]
Run = Callable[[StepPlan, Question], StepOutput]

_OUT_OF_MEMORY = re.compile(r"out of memory|allocate memory|not enough memory", re.IGNORECASE)
_BYTES_ASKED = re.compile(r"tried to allocate (\d+) bytes")
_NOTHING = StepPlan(())
_NO_OUTPUT = StepOutput({}, 0, 0)
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


@dataclass(frozen=True, slots=True)
class _Session:
    """A loaded model and everything that lives exactly as long."""

    model: LoadedModel
    run: Run
    kv: KVManager
    scheduler: Scheduler


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
        self._session: _Session | None = None
        self._load_spans: deque[tuple[int, int]] = deque(maxlen=16)
        if starting_ns is not None:
            self._load_spans.append((starting_ns, clock()))

    @property
    def info(self) -> ModelInfo | None:
        """The loaded model; None while there is none."""
        return None if self._session is None else self._session.model.info

    @property
    def has_work(self) -> bool:
        """Whether ``step`` has something to compute."""
        return self._session is not None and self._session.scheduler.has_work

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
                model = self._load(options, watch, is_cancelled)
            except OutOfMemoryError:
                if self._session is None:
                    raise
                let_go()
                model = self._load(options, watch, is_cancelled)
        except ForwardInterruptedError:  # in its warm-up
            failure = Failure.of(LoadCancelledError("Loading was stopped."))
            return [ModelFailed(options.path, failure, self.info)]
        except (EngineError, RuntimeError, MemoryError) as error:
            return [ModelFailed(options.path, self._failure_of(error), self.info)]
        finally:
            self._load_spans.append((start, self._clock()))
        events = self._drop()
        self._session = self._open(model)
        return [*events, ModelReady(model.info)]

    def unload(self) -> list[Event]:
        """Drop the model; its requests end as CANCELLED."""
        return [*self._drop(), ModelUnloaded()]

    def submit(self, request: GenerationRequest) -> list[Event]:
        """Turn the prompt into tokens and queue it: PromptTokenized, or RequestFailed."""
        try:
            return self._submit(request)
        except EngineError as error:
            return [RequestFailed(request.request_id, Failure.of(error))]

    def cancel(self, request_id: str) -> list[Event]:
        """End one request with the text it has; nothing for an unknown id."""
        return [] if self._session is None else self._session.scheduler.cancel(request_id)

    def cancel_all(self) -> list[Event]:
        """End every request with the text it has."""
        events = self._unsent()
        return events + [e for request_id in self._request_ids() for e in self.cancel(request_id)]

    def fail_all(self, failure: Failure) -> list[Event]:
        """End every request by one failure."""
        session = self._session
        if session is None:
            return []
        events = self._unsent()
        for request_id in self._request_ids():
            events += session.scheduler.fail(request_id, failure)
        return events

    def count_tokens(self, text: str) -> int | None:
        """Tokens of ``text`` alone; None while no model is loaded."""
        if self._session is None:
            return None
        return len(self._session.model.tokenizer.encode(text, parse_special=False))

    def step(self, interrupted: Question = never) -> list[Event]:
        """Compute one step of all requests.

        ``interrupted`` is asked between layers; once true, the step is given up and nothing of
        it counts. A failing request ends, and the others go on.
        """
        session = self._session
        if session is None:
            return []
        plan = session.scheduler.schedule()
        if not plan.chunks:
            return self._unsent()
        try:
            output = session.run(plan, interrupted)
        except ForwardInterruptedError:
            return self._unsent()
        except (EngineError, RuntimeError, MemoryError) as error:
            return self._step_apart(session, plan, self._failure_of(error), interrupted)
        return session.scheduler.update(plan, output)

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
        )
        if session is None:
            return empty
        geometry = session.model.config.kv
        return replace(
            empty,
            kv_live_tokens=session.kv.num_live_tokens,
            kv_live_blocks=session.kv.num_live_blocks,
            kv_cached_blocks=session.kv.num_cached_blocks,
            kv_total_blocks=session.kv.num_blocks,
            kv_block_bytes=geometry.bytes_per_block,
            num_running=session.scheduler.num_running,
            num_waiting=session.scheduler.num_waiting,
            weights_bytes=session.model.decoder.weights_bytes,
            kv_allocated_bytes=geometry.total_bytes,
        )

    def _submit(self, request: GenerationRequest) -> list[Event]:
        session = self._session
        if session is None:
            raise ModelNotLoadedError("No model is loaded. Choose a model, then send again.")
        if request.request_id in session.scheduler.request_ids:
            raise InvalidRequestError(
                "This answer is already being computed.", reason="the request's id is in use"
            )
        check_params(request.params)
        start = self._clock()
        model = session.model
        prompt_ids = encode_request(
            request, model.tokenizer, model.template, vocab_size=model.info.vocab_size
        )
        end = self._clock()
        if len(prompt_ids) >= session.scheduler.limit:
            raise _too_long(len(prompt_ids), session.scheduler.limit - 1)
        seed = request.params.seed
        session.scheduler.add(
            Request.of_prompt(
                request.request_id,
                prompt_ids,
                params=request.params,
                seed=secrets.randbits(63) if seed is None else seed,
                text=answer_stream(request, model.tokenizer, model.template),
                marks=Marks(
                    sent_ns=request.sent_ns,
                    tokenize_start_ns=start,
                    tokenize_end_ns=end,
                    load_wait_ns=self._load_wait_ns(request.sent_ns, start),
                ),
            )
        )
        return [PromptTokenized(request.request_id, len(prompt_ids))]

    def _step_apart(
        self, session: _Session, plan: StepPlan, failure: Failure, interrupted: Question
    ) -> list[Event]:
        """After a failed step, run its chunks one by one, so that only the guilty ones end."""
        if len(plan.chunks) == 1:
            return session.scheduler.fail(plan.chunks[0].request_id, failure)
        for chunk in plan.chunks:
            alone = StepPlan((chunk,))
            try:
                output = session.run(alone, interrupted)
            except ForwardInterruptedError:
                break
            except (EngineError, RuntimeError, MemoryError) as error:
                failed = session.scheduler.fail(chunk.request_id, self._failure_of(error))
                session.scheduler.defer(failed)
            else:
                session.scheduler.defer(session.scheduler.update(alone, output))
        return self._unsent()

    def _open(self, model: LoadedModel) -> _Session:
        config = model.config
        kv = KVManager(
            num_blocks=config.kv.num_blocks,
            block_size=config.kv.block_size,
            prefix_cache=config.prefix_cache and config.kv_cache,
        )
        scheduler = Scheduler(config, kv, eos_ids=model.tokenizer.eos_ids, clock=self._clock)
        return _Session(model, self._make_runner(model), kv, scheduler)

    def _drop(self) -> list[Event]:
        """Let the model go and give its memory back."""
        events = self.cancel_all()
        if self._session is not None:
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

    def _unsent(self) -> list[Event]:
        """Events that no step has returned yet."""
        if self._session is None:
            return []
        return self._session.scheduler.update(_NOTHING, _NO_OUTPUT)

    def _request_ids(self) -> tuple[str, ...]:
        return () if self._session is None else self._session.scheduler.request_ids

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


def _size_on_disk(path: Path) -> int:
    if path.is_dir():
        return sum(file.stat().st_size for file in path.iterdir() if file.is_file())
    return path.stat().st_size if path.is_file() else 0


def _too_long(needed: int, limit: int) -> PromptTooLongError:
    return PromptTooLongError(
        f"The prompt has {needed:,} tokens, and {limit:,} fit. It was not cut: shorten it, or "
        "raise the context length in the model settings.",
        needed=needed,
        limit=limit,
    )
