"""The thread "inspector": hears every event of the engine, and reports on answers.

Costs the engine's thread one append an event: everything else happens here, after something that
does not happen every token, or after WAIT_S. Whoever starts it is not held up by its imports.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.api import (
    EngineStats,
    Event,
    ExplainAnswer,
    ExportTrace,
    Finished,
    ModelOptions,
    NotePaint,
    PromptTokenized,
    RequestFailed,
)
from engine.errors import EngineError
from engine.tracing.pauses import CollectorWatch

if TYPE_CHECKING:
    from engine.tracing.watcher import AnswerWatcher, Item

_log = logging.getLogger(__name__)
WAIT_S = 0.25  # between two looks at the machine


def _make_watcher(on_event: Callable[[Event], None], collector: CollectorWatch) -> "AnswerWatcher":
    from engine.tracing.watcher import AnswerWatcher  # noqa: PLC0415 - imports numpy

    return AnswerWatcher(on_event, collector)


class AnswerInspector:
    """Reports through ``on_event``, in its own thread; everything else may be called in any."""

    def __init__(
        self,
        on_event: Callable[[Event], None],
        make_watcher: Callable[
            [Callable[[Event], None], CollectorWatch], "AnswerWatcher"
        ] = _make_watcher,
    ) -> None:
        self._on_event = on_event
        self._make_watcher = make_watcher
        self._items: deque[Item] = deque()
        self._woken = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="inspector", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self, timeout_s: float) -> bool:
        """End the thread; False if it did not end within ``timeout_s``."""
        self._is_closing = True
        self._woken.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def take(self, event: Event) -> None:
        """Hear of an event. Returns at once."""
        if isinstance(event, EngineStats):
            return
        self._items.append(event)
        # waking the thread for every token would cost the engine its turn
        if isinstance(event, PromptTokenized | Finished | RequestFailed):
            self._woken.set()

    def post(self, command: ExplainAnswer | NotePaint | ExportTrace) -> None:
        """Hand a command over. Returns at once."""
        self._items.append(command)
        if not isinstance(command, NotePaint):
            self._woken.set()

    def note_options(self, options: ModelOptions) -> None:
        """What the next model is loaded with."""
        self._items.append(options)

    def _run(self) -> None:
        self._woken.wait()
        with CollectorWatch() as collector:
            watcher = self._make_watcher(self._on_event, collector)
            while not self._is_closing:
                try:
                    self._turn(watcher)
                except (EngineError, OSError, ArithmeticError, ValueError):
                    # a header, a file of the system, a figure: one report less
                    _log.exception("fault in the inspector")
                self._woken.wait(WAIT_S if watcher.has_open else None)
                self._woken.clear()

    def _turn(self, watcher: "AnswerWatcher") -> None:
        while self._items:
            watcher.hear(self._items.popleft())
        watcher.look()
