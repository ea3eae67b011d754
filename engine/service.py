"""The engine's thread: commands in from any thread, events out through one callback.

Owns the thread named "engine" and, in it, the EngineCore; and the inspector, which hears of every
event and tells of answers in a thread of its own. torch is imported inside the thread, so
that whoever starts the service is not held up by it.
"""

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.api import (
    CacheMapped,
    CacheRestored,
    CacheSaved,
    Cancel,
    CancelInspection,
    Command,
    CountTokens,
    Event,
    ExplainAnswer,
    ExportTrace,
    Failure,
    Finished,
    FinishReason,
    InspectTokens,
    LoadModel,
    MapCache,
    ModelFailed,
    ModelInfo,
    ModelProfiled,
    ModelUnloaded,
    NotePaint,
    Prioritise,
    ProfileModel,
    RequestFailed,
    RestoreCache,
    SaveCache,
    Shutdown,
    Submit,
    TokensCounted,
    TokensInspected,
    UnloadModel,
)
from engine.errors import EngineError, LoadCancelledError
from engine.metrics import Throttle, now_ns
from engine.preload import preload_torch
from engine.tracing.inspector import AnswerInspector

if TYPE_CHECKING:
    from engine.core import EngineCore

_log = logging.getLogger(__name__)
_STATS_INTERVAL_NS = 100_000_000


def _make_core() -> "EngineCore":
    starting_ns = now_ns()
    preload_torch()
    from engine.core import EngineCore  # noqa: PLC0415 - torch takes long; here it holds nobody up

    return EngineCore(starting_ns=starting_ns)


class EngineService:
    """Runs one EngineCore in its own thread.

    ``on_event`` is called in that thread, or in the inspector's, with frozen events and must return
    at once.
    ``post``, ``cancel`` and ``close`` may be called from any thread.
    """

    def __init__(
        self,
        on_event: Callable[[Event], None],
        make_core: Callable[[], "EngineCore"] = _make_core,
    ) -> None:
        self._listener = on_event
        self._inspector = AnswerInspector(on_event)
        self._make_core = make_core
        self._commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._cancelled: set[str] = set()
        self._is_closing = threading.Event()
        # A forward pass that does not end must not keep a closed program alive, hence daemon.
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        # Below: the engine thread's own.
        self._inbox: deque[Command] = deque()
        self._current: Command | None = None
        self._open: set[str] = set()  # requests handed to the core that have not ended
        self._core: EngineCore | None = None
        self._stats_pace = Throttle(_STATS_INTERVAL_NS)

    def start(self) -> None:
        """Start the threads. Commands posted before are kept."""
        self._inspector.start()
        self._thread.start()

    def post(self, command: Command) -> None:
        """Hand a command over. Cancel and Shutdown also cut a running forward pass short."""
        if isinstance(command, ExplainAnswer | NotePaint | ExportTrace):
            self._inspector.post(command)
            return
        if isinstance(command, Cancel):
            self._cancelled.add(command.request_id)
        elif isinstance(command, Shutdown):
            self._is_closing.set()
        self._commands.put(command)

    def cancel(self, request_id: str) -> None:
        """Stop one request between two layers of the pass it is in."""
        self.post(Cancel(request_id))

    def close(self, timeout_s: float) -> bool:
        """Cancel everything and end the thread; False if it did not end within ``timeout_s``."""
        self.post(Shutdown())
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        # what the engine says at its end is heard before
        return self._inspector.close(timeout_s) and not self._thread.is_alive()

    # ------------------------------------------------------------------ in the engine thread

    def _run(self) -> None:
        while not self._is_closing.is_set():
            try:
                self._turn()
            except Exception:  # noqa: BLE001 - the engine loop: whatever broke, the app goes on
                _log.exception("fault in the engine loop")
                self._report_fault()
        self._say_goodbye()

    def _turn(self) -> None:
        """Handle what was asked, compute one step, show the gauges."""
        if self._core is None:
            self._core = self._make_core()
        self._receive(wait=not self._core.has_work and not self._inbox)
        while self._inbox and not self._is_closing.is_set():
            self._current = self._next_command()
            self._handle(self._core, self._current)
            self._current = None
        if self._core.has_work:
            self._send(self._core.step(self._is_interrupted))
        if self._stats_pace.is_due(now_ns()) or not self._core.has_work:
            self._on_event(self._core.stats())

    def _receive(self, *, wait: bool) -> None:
        """Move commands into the inbox, after waiting for the first one if told to."""
        if wait:
            self._inbox.append(self._commands.get())
        while not self._commands.empty():  # nobody else takes any out
            self._inbox.append(self._commands.get_nowait())

    def _next_command(self) -> Command:
        """The command to handle next: the latest one about the model, else the oldest.

        A request sent while the model is about to change is meant for the new one, and of several
        changes only the last is still wanted.
        """
        changes = [c for c in self._inbox if isinstance(c, LoadModel | UnloadModel)]
        if not changes:
            return self._inbox.popleft()
        for change in changes:
            self._inbox.remove(change)
        for change in changes[:-1]:
            if isinstance(change, LoadModel):
                self._send([self._superseded(change)])
        return changes[-1]

    def _handle(self, core: "EngineCore", command: Command) -> None:
        match command:
            case LoadModel(options):
                self._inspector.note_options(options)
                self._send(core.load(options, self._emit, self._is_load_unwanted))
            case UnloadModel():
                self._send(core.unload())
            case Submit(request):
                self._open.add(request.request_id)
                self._send(core.submit(request))
            case Cancel():
                self._cancel(core, command)
            case Shutdown():
                pass  # the flag that post() set ends the loop
            case ExplainAnswer() | NotePaint() | ExportTrace():
                pass  # post() gave them to the inspector
            case _:
                self._handle_small(core, command)

    def _handle_small(
        self,
        core: "EngineCore",
        command: CountTokens
        | Prioritise
        | SaveCache
        | RestoreCache
        | MapCache
        | ProfileModel
        | InspectTokens
        | CancelInspection,
    ) -> None:
        match command:
            case CountTokens(ticket, text, messages):
                count, prompt = core.count_tokens(text, messages)
                self._emit(TokensCounted(ticket, count, prompt))
            case Prioritise(request_id, priority):
                core.prioritise(request_id, priority)
            case SaveCache(conversation_id, path):
                self._send(core.save_cache(conversation_id, path))
            case MapCache(ticket, num_tokens):
                self._emit(core.map_cache(ticket, num_tokens))
            case RestoreCache(conversation_id, path):
                self._send(core.restore_cache(conversation_id, path))
            case ProfileModel(ticket, context, prompt_tokens):
                self._send(core.profile(ticket, context, prompt_tokens))
            case InspectTokens():
                self._send(core.inspect_tokens(command))
            case CancelInspection(ticket):
                core.cancel_inspection(ticket)

    def _cancel(self, core: "EngineCore", command: Cancel) -> None:
        self._cancelled.discard(command.request_id)
        self._send(core.cancel(command.request_id))

    def _is_interrupted(self) -> bool:
        return bool(self._cancelled) or self._is_closing.is_set()

    def _is_load_unwanted(self) -> bool:
        """Asked by the loader: whether another model, or the end, was asked for meanwhile.

        Also where Stop reaches requests that wait for the model.
        """
        self._receive(wait=False)
        for command in [c for c in self._inbox if isinstance(c, Cancel)]:
            self._inbox.remove(command)
            self._cancel_while_loading(command)
        return self._is_closing.is_set() or any(
            isinstance(command, LoadModel | UnloadModel) for command in self._inbox
        )

    def _cancel_while_loading(self, command: Cancel) -> None:
        waiting = [
            c
            for c in self._inbox
            if isinstance(c, Submit) and c.request.request_id == command.request_id
        ]
        for submit in waiting:
            self._inbox.remove(submit)
            self._send([Finished(command.request_id, FinishReason.CANCELLED, None)])
        if self._core is not None:
            self._cancel(self._core, command)

    def _send(self, events: list[Event]) -> None:
        for event in events:
            self._emit(event)

    def _emit(self, event: Event) -> None:
        if isinstance(event, Finished | RequestFailed):
            self._open.discard(event.request_id)
        self._on_event(event)

    def _on_event(self, event: Event) -> None:
        self._inspector.take(event)
        self._listener(event)

    def _report_fault(self) -> None:
        """Answer what the fault may have touched: the command it struck, or every request."""
        failure = Failure.of(
            EngineError(
                "The engine met a fault of its own, and the text so far was kept. Send the "
                "message again; if it fails again, load the model again."
            )
        )
        command, self._current = self._current, None
        if self._core is None and command is None:  # it could not be built: answer who waits
            self._receive(wait=not self._inbox)
            command = self._inbox.popleft()
        if command is None or isinstance(command, LoadModel | UnloadModel):
            self._fail_all(failure)
        if command is not None:
            self._answer_with(failure, command)

    def _fail_all(self, failure: Failure) -> None:
        """End every open request. A core that cannot do that is given up with its model."""
        if self._core is not None and not self._end_all(lambda core: core.fail_all(failure)):
            self._core = None
            self._on_event(ModelUnloaded())
        for request_id in sorted(self._open):
            self._emit(RequestFailed(request_id, failure))

    def _end_all(self, end: Callable[["EngineCore"], list[Event]]) -> bool:
        """Let the core end its requests; False where it fails even in that."""
        try:
            if self._core is not None:
                self._send(end(self._core))
        except Exception:  # noqa: BLE001 - the engine loop's last resort: the thread goes on
            _log.exception("fault while requests were ended")
            return False
        return True

    def _answer_with(self, failure: Failure, command: Command) -> None:
        match command:
            case Submit(request):
                self._emit(RequestFailed(request.request_id, failure))
            case LoadModel(options):
                self._on_event(ModelFailed(options.path, failure, self._info()))
            case CountTokens(ticket):
                self._on_event(TokensCounted(ticket, None))
            case SaveCache(conversation_id):
                self._on_event(CacheSaved(conversation_id, 0, 0))
            case MapCache(ticket):
                self._on_event(CacheMapped(ticket, ()))
            case RestoreCache(conversation_id):
                self._on_event(CacheRestored(conversation_id, 0))
            case ProfileModel(ticket):
                self._on_event(ModelProfiled(ticket, None, failure.message))
            case InspectTokens(ticket):
                self._on_event(TokensInspected(ticket, (), failure.message))
            case Cancel(request_id):
                self._cancelled.discard(request_id)
            case _:
                pass

    def _say_goodbye(self) -> None:
        """End what is still open, so that every request has its last event."""
        self._receive(wait=False)
        self._end_all(lambda core: core.cancel_all())
        waiting = [c.request.request_id for c in self._inbox if isinstance(c, Submit)]
        for request_id in (*sorted(self._open), *waiting):
            self._emit(Finished(request_id, FinishReason.CANCELLED, None))

    def _superseded(self, command: LoadModel) -> ModelFailed:
        error = LoadCancelledError("Loading was given up, because something else was chosen.")
        return ModelFailed(command.options.path, Failure.of(error), self._info())

    def _info(self) -> ModelInfo | None:
        return None if self._core is None else self._core.info
