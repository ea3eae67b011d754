"""Joins the engine's thread to the GUI thread: calls in, signals out.

Lives in the GUI thread. ``on_event`` alone runs in the engine's thread: it queues the event and
wakes the GUI thread if that is not awake already. A hundred tokens in one frame are one signal, and
while every frame has news the GUI thread looks for it unasked: a small machine's cores are the
engine's, and each time that a thread is woken takes one of them away.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from time import perf_counter_ns
from typing import Protocol

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from engine.api import (
    AnswerExplained,
    AnswerReport,
    CacheMapped,
    CacheRestored,
    CacheSaved,
    CancelInspection,
    Command,
    CountTokens,
    EngineStats,
    Event,
    ExplainAnswer,
    ExportTrace,
    Finished,
    GenerationRequest,
    InspectionProgress,
    InspectTokens,
    LoadModel,
    LoadProgress,
    MapCache,
    Message,
    ModelFailed,
    ModelOptions,
    ModelProfiled,
    ModelReady,
    ModelUnloaded,
    NotePaint,
    PrefillProgress,
    Prioritise,
    ProfileModel,
    PromptTokenized,
    RequestFailed,
    RestoreCache,
    SaveCache,
    Submit,
    TokensCounted,
    TokensInspected,
    TokensProduced,
    TraceExported,
    TraceFormat,
    UnloadModel,
)

FRAME_MS = 40  # longer than the page pauses after new text: it then shows the next at once
RequestEvent = PromptTokenized | PrefillProgress | TokensProduced | Finished | RequestFailed


class Engine(Protocol):
    """What the bridge asks of an engine; each call returns at once, save ``close``."""

    def start(self) -> None:
        """Begin to work, on a thread of its own."""
        ...

    def post(self, command: Command) -> None:
        """Queue a command."""
        ...

    def cancel(self, request_id: str) -> None:
        """Stop a request as soon as possible."""
        ...

    def close(self, timeout_s: float) -> bool:
        """Cancel everything and end; False when that took longer than ``timeout_s``."""
        ...


EngineFactory = Callable[[Callable[[Event], None]], Engine]


class EngineBridge(QObject):
    """Owns one engine. Events of a request arrive in order and end with its end."""

    load_progressed = Signal(LoadProgress)
    model_ready = Signal(ModelReady)
    model_failed = Signal(ModelFailed)
    model_unloaded = Signal()
    prompt_tokenized = Signal(PromptTokenized)
    prefill_progressed = Signal(PrefillProgress)
    tokens_produced = Signal(TokensProduced)
    finished = Signal(Finished)
    failed = Signal(RequestFailed)
    tokens_counted = Signal(TokensCounted)
    cache_saved = Signal(CacheSaved)
    cache_restored = Signal(CacheRestored)
    cache_mapped = Signal(CacheMapped)
    model_profiled = Signal(ModelProfiled)
    inspection_progressed = Signal(InspectionProgress)
    tokens_inspected = Signal(TokensInspected)
    stats_changed = Signal(EngineStats)
    answer_explained = Signal(AnswerReport)
    trace_exported = Signal(TraceExported)
    _woken = Signal()

    def __init__(self, make_engine: EngineFactory, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._events: deque[Event] = deque()
        self._is_awake = False
        self._is_closed = False
        self._last_drain_ns = 0
        self._active: set[str] = set()
        self._next_ticket = 0
        self._frame = QTimer(self)
        self._frame.setObjectName("bridge-frame")
        self._frame.setSingleShot(True)
        self._frame.setTimerType(Qt.TimerType.PreciseTimer)
        self._frame.timeout.connect(self.drain)
        self._woken.connect(self._on_woken, Qt.ConnectionType.QueuedConnection)
        self._engine = make_engine(self._on_event)

    # ------------------------------------------------------------------ calls

    def start(self) -> None:
        """Start the engine's thread."""
        self._engine.start()

    def load(self, options: ModelOptions) -> None:
        """Load a model; progress, then ``model_ready`` or ``model_failed``, follow."""
        self._engine.post(LoadModel(options))

    def unload(self) -> None:
        """Drop the model, or give up loading one."""
        self._engine.post(UnloadModel())

    def submit(self, request: GenerationRequest) -> None:
        """Compute an answer; ``finished`` or ``failed`` ends it."""
        self._active.add(request.request_id)
        self._engine.post(Submit(request))

    def cancel(self, request_id: str) -> None:
        """Stop an answer; ``finished`` follows. Unknown and ended requests are ignored."""
        if request_id in self._active:
            self._engine.cancel(request_id)

    def prioritise(self, request_id: str, priority: int) -> None:
        """Let a request go before (or behind) others. Unknown and ended ones are ignored."""
        if request_id in self._active:
            self._engine.post(Prioritise(request_id, priority))

    def count_tokens(self, text: str, messages: tuple[Message, ...] = ()) -> int:
        """Ask for the tokens in a text, and in the prompt that messages make.

        The ticket that is returned comes back in the answer.
        """
        self._next_ticket += 1
        self._engine.post(CountTokens(self._next_ticket, text, messages))
        return self._next_ticket

    def save_cache(self, conversation_id: str, path: str) -> None:
        """Keep a conversation's cache in a file; ``cache_saved`` follows."""
        self._engine.post(SaveCache(conversation_id, path))

    def restore_cache(self, conversation_id: str, path: str) -> None:
        """Bring a conversation's cache back; ``cache_restored`` follows."""
        self._engine.post(RestoreCache(conversation_id, path))

    def map_cache(self, num_tokens: int = 0) -> int:
        """Ask whose the cache's blocks are, and what a text of so many tokens would take.

        The ticket that is returned comes back in ``cache_mapped``.
        """
        self._next_ticket += 1
        self._engine.post(MapCache(self._next_ticket, num_tokens))
        return self._next_ticket

    def profile(self, context: int, prompt_tokens: int) -> int:
        """Look where the loaded model's time goes; ``model_profiled`` follows with the ticket."""
        self._next_ticket += 1
        self._engine.post(ProfileModel(self._next_ticket, context, prompt_tokens))
        return self._next_ticket

    def inspect_tokens(
        self,
        messages: tuple[Message, ...],
        answer: str,
        answer_ids: tuple[int, ...] | None = None,
        *,
        reasoning: str = "",
    ) -> int:
        """Look at an answer's tokens; ``tokens_inspected`` follows with the ticket."""
        self._next_ticket += 1
        ticket = self._next_ticket
        asked = InspectTokens(ticket, messages, answer, answer_ids, reasoning=reasoning)
        self._engine.post(asked)
        return ticket

    def cancel_inspection(self, ticket: int) -> None:
        """Say that nobody waits for these tokens any more."""
        self._engine.post(CancelInspection(ticket))

    def explain(self, request_id: str) -> None:
        """Ask for an answer's report as of now; ``answer_explained`` follows."""
        self._engine.post(ExplainAnswer(request_id))

    def note_paint(self, request_id: str, token_ns: int, painted_ns: int) -> None:
        """Say that a token chosen at ``token_ns`` was on the screen at ``painted_ns``."""
        self._engine.post(NotePaint(request_id, token_ns, painted_ns))

    def export_trace(self, report: AnswerReport, path: str, form: TraceFormat) -> None:
        """Write a report to a file; ``trace_exported`` follows."""
        self._engine.post(ExportTrace(report, path, form))

    def close(self, timeout_s: float) -> bool:
        """End the engine, then deliver what it still said."""
        is_closed = self._engine.close(timeout_s)
        self._is_closed = True
        self.drain()
        return is_closed

    # ------------------------------------------------------------------ events

    def _on_event(self, event: Event) -> None:
        self._events.append(event)
        # append first, look second: the GUI thread clears the flag before it empties the deque
        if not self._is_awake:
            self._is_awake = True
            self._woken.emit()

    @Slot()
    def _on_woken(self) -> None:
        if self._is_closed:
            return
        wait_ms = FRAME_MS - (perf_counter_ns() - self._last_drain_ns) // 1_000_000
        if wait_ms <= 0:
            self.drain()
        elif not self._frame.isActive():
            self._frame.start(wait_ms)

    @Slot()
    def drain(self) -> None:
        """Emit everything that has arrived, consecutive tokens of a request joined."""
        self._frame.stop()
        self._last_drain_ns = perf_counter_ns()
        arrived = self._take()
        if not arrived:
            self._is_awake = False
            arrived = self._take()  # what came before that was said woke nobody
        if arrived and not self._is_closed:
            self._is_awake = True
            self._frame.start(FRAME_MS)
        for event in coalesce(arrived):
            self._emit(event)

    def _take(self) -> list[Event]:
        arrived: list[Event] = []
        while self._events:
            arrived.append(self._events.popleft())
        return arrived

    def _emit(self, event: Event) -> None:
        if isinstance(event, RequestEvent):
            self._emit_request_event(event)
            return
        match event:
            case LoadProgress():
                self.load_progressed.emit(event)
            case ModelReady():
                self.model_ready.emit(event)
            case ModelFailed():
                self.model_failed.emit(event)
            case ModelUnloaded():
                self.model_unloaded.emit()
            case TokensCounted():
                self.tokens_counted.emit(event)
            case CacheSaved():
                self.cache_saved.emit(event)
            case CacheRestored():
                self.cache_restored.emit(event)
            case EngineStats():
                self.stats_changed.emit(event)
            case _:
                self._emit_inspection(event)

    def _emit_inspection(
        self,
        event: AnswerExplained
        | CacheMapped
        | TraceExported
        | ModelProfiled
        | InspectionProgress
        | TokensInspected,
    ) -> None:
        match event:
            case InspectionProgress():
                self.inspection_progressed.emit(event)
            case TokensInspected():
                self.tokens_inspected.emit(event)
            case AnswerExplained(report):
                self.answer_explained.emit(report)
            case CacheMapped():
                self.cache_mapped.emit(event)
            case TraceExported():
                self.trace_exported.emit(event)
            case ModelProfiled():
                self.model_profiled.emit(event)

    def _emit_request_event(self, event: RequestEvent) -> None:
        if event.request_id not in self._active:
            return  # late news of an answer that has ended
        match event:
            case PromptTokenized():
                self.prompt_tokenized.emit(event)
            case PrefillProgress():
                self.prefill_progressed.emit(event)
            case TokensProduced():
                self.tokens_produced.emit(event)
            case Finished():
                self._active.discard(event.request_id)
                self.finished.emit(event)
            case RequestFailed():
                self._active.discard(event.request_id)
                self.failed.emit(event)


def coalesce(events: Iterable[Event]) -> list[Event]:
    """Join what one frame can show at once.

    Tokens of a request that no other event of that request separates become one event; of
    progress and gauges in a row only the last is kept. The order within a request stays.
    """
    joined: list[Event] = []
    tokens_at: dict[str, int] = {}
    for event in events:
        if isinstance(event, TokensProduced) and event.request_id in tokens_at:
            index = tokens_at[event.request_id]
            joined[index] = _join(joined[index], event)
            continue
        if joined and isinstance(event, LoadProgress | EngineStats):
            if type(joined[-1]) is type(event):
                joined[-1] = event
                continue
        elif isinstance(event, TokensProduced):
            tokens_at[event.request_id] = len(joined)
        elif isinstance(event, RequestEvent):
            tokens_at.pop(event.request_id, None)
        joined.append(event)
    return joined


def _join(first: Event, second: TokensProduced) -> TokensProduced:
    assert isinstance(first, TokensProduced)
    at = len(first.text)
    return replace(
        first,
        text=first.text + second.text,
        reasoning=first.reasoning + second.reasoning,
        num_accepted=first.num_accepted + second.num_accepted,
        num_reasoning=first.num_reasoning + second.num_reasoning,
        guessed=first.guessed + tuple((start + at, end + at) for start, end in second.guessed),
        token_ids=first.token_ids + second.token_ids,
        times_ns=first.times_ns + second.times_ns,
    )
