"""An engine that plays a script: tokens, delays, failures and load progress, without a model.

By default nothing happens until a test calls ``step`` or ``run``: every event is then emitted in
the caller's thread. With ``token_interval_s`` it plays on a thread of its own after ``start``.
"""

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns

from engine.api import (
    CacheMiss,
    Cancel,
    CancelInspection,
    Command,
    CountTokens,
    Device,
    EngineStats,
    Event,
    Failure,
    Finished,
    FinishReason,
    GenerationRequest,
    InspectTokens,
    LeftOut,
    LoadModel,
    LoadProgress,
    LoadStage,
    MapCache,
    ModelFailed,
    ModelInfo,
    ModelOptions,
    ModelReady,
    ModelUnloaded,
    Precision,
    PrefillProgress,
    Prioritise,
    ProfileModel,
    PromptTokenized,
    RequestFailed,
    RestoreCache,
    SaveCache,
    Shutdown,
    Submit,
    Timeline,
    TokensCounted,
    TokensProduced,
    UnloadModel,
)
from engine.errors import LoadCancelledError, ModelNotLoadedError

MIB = 1 << 20
LOAD_STAGES = (LoadStage.READING_HEADER, LoadStage.TOKENIZER, LoadStage.WEIGHTS)


@dataclass(frozen=True)
class Script:
    """What the engine does. ``failure`` ends each answer after its pieces."""

    pieces: tuple[str, ...] = ("Hello", ", ", "world", ".")
    reason: FinishReason = FinishReason.END_OF_TEXT
    failure: Failure | None = None
    load_failure: Failure | None = None
    num_prompt_tokens: int = 12
    num_cached_tokens: int = 0
    cache_miss: CacheMiss | None = None
    left_out: LeftOut | None = None
    prefill_chunks: int = 1
    context_length: int = 2048
    token_interval_s: float | None = None
    answers: tuple[tuple[str, ...], ...] = ()  # per request, before ``pieces`` is repeated
    thoughts: tuple[str, ...] = ()  # the reasoning before each answer
    guessed: tuple[tuple[int, int], ...] = ()  # of each piece


def model_info(options: ModelOptions, context_length: int = 2048) -> ModelInfo:
    """A small model as it might resolve."""
    return ModelInfo(
        path=options.path,
        name=Path(options.path).stem,
        architecture="llama",
        precision=Precision.INT4,
        device=Device.CPU,
        device_name="Test CPU",
        threads=options.threads or 2,
        context_length=options.context_length or context_length,
        trained_context_length=context_length,
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_layers=30,
        num_heads=9,
        num_kv_heads=3,
        head_dim=64,
        num_parameters=134_515_008,
        file_bytes=98_362_432,
        weights_bytes=90 * MIB,
        kv_bytes_per_token=23_040,
        kv_budget_bytes=45 * MIB,
        kv_block_size=16,
        kv_dtype="bfloat16",
        load_ns=1_000_000,
        has_chat_template=True,
    )


@dataclass
class FakeEngine:
    """Plays ``script`` for every request; ``requests`` and ``loads`` record what was asked."""

    on_event: Callable[[Event], None]
    script: Script = field(default_factory=Script)
    requests: list[GenerationRequest] = field(default_factory=list)
    loads: list[ModelOptions] = field(default_factory=list)
    small: list[Command] = field(default_factory=list)
    info: ModelInfo | None = None
    is_closed: bool = False

    def __post_init__(self) -> None:
        self._commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._cancelled: set[str] = set()
        self._waiting: list[GenerationRequest] = []
        self._playing: dict[str, Iterator[Event]] = {}
        self._load: Iterator[Event] | None = None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    # ------------------------------------------------------------------ the engine's interface

    def start(self) -> None:
        if self.script.token_interval_s is not None:
            self._thread = threading.Thread(target=self._loop, name="engine", daemon=True)
            self._thread.start()

    def post(self, command: Command) -> None:
        if isinstance(command, Cancel):
            self._cancelled.add(command.request_id)
        self._commands.put(command)

    def cancel(self, request_id: str) -> None:
        self.post(Cancel(request_id))

    def close(self, timeout_s: float) -> bool:
        self.post(Shutdown())
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout_s)
        self._take_commands()
        for request_id in [*self._playing, *(r.request_id for r in self._waiting)]:
            self.on_event(Finished(request_id, FinishReason.CANCELLED, None))
        self._playing.clear()
        self._waiting.clear()
        self.is_closed = True
        return True

    # ------------------------------------------------------------------ for tests

    @property
    def is_idle(self) -> bool:
        return not self._playing and self._load is None and self._commands.empty()

    def step(self) -> None:
        """Take the commands, then emit the next event of the load or of each answer."""
        self._take_commands()
        if self._load is not None:
            self._advance_load()
            return
        for request in self._waiting:
            self._begin(request)
        self._waiting.clear()
        for request_id, events in list(self._playing.items()):
            event = next(events, None)
            if event is None:
                del self._playing[request_id]
            else:
                self.on_event(event)

    def run(self) -> None:
        """Play until nothing is left to do."""
        self.step()
        while not self.is_idle or self._waiting:
            self.step()

    # ------------------------------------------------------------------ playing

    def _loop(self) -> None:
        while not self._closing.wait(self.script.token_interval_s):
            self.step()

    def _take_commands(self) -> None:
        while True:
            try:
                command = self._commands.get_nowait()
            except queue.Empty:
                return
            self._handle(command)

    def _handle(self, command: Command) -> None:
        match command:
            case LoadModel(options):
                self._give_up_load()
                self.loads.append(options)
                self._load = self._load_events(options)
            case UnloadModel():
                self._give_up_load()
                self.info = None
                self.on_event(ModelUnloaded())
            case Submit(request):
                self.requests.append(request)
                self._waiting.append(request)
            case Cancel(request_id):
                self._cancel(request_id)
            case CountTokens(ticket, text, messages):
                count = None if self.info is None else len(text.split())
                prompt = sum(len(m.content.split()) for m in messages) if messages else None
                self.on_event(TokensCounted(ticket, count, prompt))
            case Prioritise() | SaveCache() | RestoreCache() | ProfileModel() | MapCache():
                self.small.append(command)
            case InspectTokens() | CancelInspection():
                self.small.append(command)
            case Shutdown():
                pass

    def _cancel(self, request_id: str) -> None:
        was_playing = self._playing.pop(request_id, None) is not None
        waiting = [r for r in self._waiting if r.request_id == request_id]
        for request in waiting:
            self._waiting.remove(request)
        if was_playing or waiting:
            self.on_event(Finished(request_id, FinishReason.CANCELLED, None))

    def _give_up_load(self) -> None:
        if self._load is not None:
            self._load = None
            failure = Failure.of(LoadCancelledError("Loading was given up."))
            self.on_event(ModelFailed(self.loads[-1].path, failure, self.info))

    def _advance_load(self) -> None:
        assert self._load is not None
        event = next(self._load)
        if isinstance(event, ModelReady | ModelFailed):
            self._load = None
        if isinstance(event, ModelReady):
            self.info = event.info
        self.on_event(event)

    def _load_events(self, options: ModelOptions) -> Iterator[Event]:
        for stage in LOAD_STAGES:
            yield LoadProgress(options.path, stage, 1, 2)
        if self.script.load_failure is not None:
            yield ModelFailed(options.path, self.script.load_failure, self.info)
        else:
            yield ModelReady(model_info(options, self.script.context_length))

    def _begin(self, request: GenerationRequest) -> None:
        if self.info is None:
            failure = Failure.of(ModelNotLoadedError("No model is loaded."))
            self.on_event(RequestFailed(request.request_id, failure))
            return
        number = self.requests.index(request)
        answers = self.script.answers
        pieces = answers[number] if number < len(answers) else self.script.pieces
        self._playing[request.request_id] = self._answer_events(request, pieces)

    def _answer_events(
        self, request: GenerationRequest, pieces: tuple[str, ...]
    ) -> Iterator[Event]:
        script, request_id = self.script, request.request_id
        start_ns = perf_counter_ns()
        yield PromptTokenized(request_id, script.num_prompt_tokens, script.left_out)
        for chunk in range(1, script.prefill_chunks + 1):
            computed = script.num_prompt_tokens * chunk // script.prefill_chunks
            yield PrefillProgress(
                request_id, computed, script.num_cached_tokens, script.num_prompt_tokens
            )
        span = start_ns, perf_counter_ns()
        times: list[int] = []
        for place, piece in enumerate((*script.thoughts, *pieces)):
            times.append(perf_counter_ns())
            is_first = len(times) == 1
            is_thought = place < len(script.thoughts)
            yield TokensProduced(
                request_id,
                "" if is_thought else piece,
                (len(times),),
                (times[-1],),
                is_first=is_first,
                timeline=self._timeline(request, span, times) if is_first else None,
                reasoning=piece if is_thought else "",
                num_reasoning=int(is_thought),
                guessed=() if is_thought else script.guessed,
            )
        timeline = self._timeline(request, span, times) if times else None
        if script.failure is not None:
            yield RequestFailed(request_id, script.failure, timeline)
        else:
            yield Finished(request_id, script.reason, timeline)
        yield self._stats()

    def _timeline(
        self, request: GenerationRequest, prefill_span: tuple[int, int], times: list[int]
    ) -> Timeline:
        start_ns, prefill_end_ns = prefill_span
        return Timeline(
            sent_ns=request.sent_ns,
            tokenize_start_ns=start_ns,
            tokenize_end_ns=start_ns,
            prefill_start_ns=start_ns,
            prefill_end_ns=prefill_end_ns,
            first_token_ns=times[0],
            last_token_ns=times[-1],
            load_wait_ns=0,
            num_prompt_tokens=self.script.num_prompt_tokens,
            num_cached_tokens=self.script.num_cached_tokens,
            num_output_tokens=len(times),
            cache_miss=self.script.cache_miss,
            left_out=self.script.left_out,
        )

    def _stats(self) -> EngineStats:
        return EngineStats(
            at_ns=perf_counter_ns(),
            kv_live_tokens=0,
            kv_live_blocks=0,
            kv_cached_blocks=2,
            kv_total_blocks=128,
            kv_block_bytes=16 * 23_040,
            num_running=len(self._playing),
            num_waiting=0,
            weights_bytes=90 * MIB,
            kv_allocated_bytes=45 * MIB,
            process_bytes=400 * MIB,
            other_programs_bytes=4096 * MIB,
            total_memory_bytes=16_384 * MIB,
        )


class FakeEngines:
    """A factory for the bridge; ``engine`` is the one it made last."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or Script()
        self.made: list[FakeEngine] = []

    @property
    def engine(self) -> FakeEngine:
        return self.made[-1]

    def __call__(self, on_event: Callable[[Event], None]) -> FakeEngine:
        engine = FakeEngine(on_event, self.script)
        self.made.append(engine)
        return engine
