"""Work in the background whose results come back to the GUI thread, in order.

One worker thread per SerialTasks; results wait in a deque and one queued signal wakes the GUI
thread for all of them. Knows nothing of what the work is.
"""

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot

T = TypeVar("T")
logger = logging.getLogger(__name__)


class Tasks(Protocol):
    """Runs functions one after another, off the GUI thread."""

    def run(
        self,
        work: Callable[[], T],
        on_done: Callable[[T], None] | None = None,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """Run ``work`` later; then call one of the others with what it returned or raised."""
        ...

    def close(self, timeout_s: float) -> bool:
        """Finish what is queued, deliver it and stop; False when that took too long."""
        ...


class SerialTasks(QObject):
    """A worker thread named ``name``. Made, called and closed in the GUI thread."""

    _woken = Signal()

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._results: deque[Callable[[], None]] = deque()
        self._is_awake = False
        self._is_closed = False
        self._woken.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def run(
        self,
        work: Callable[[], T],
        on_done: Callable[[T], None] | None = None,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """Run ``work`` on the worker, then ``on_done`` or ``on_error`` in the GUI thread.

        An error without ``on_error`` is logged. After ``close`` nothing runs any more.
        """
        if self._is_closed:
            # not what it was: its arguments may be a snapshot of the settings, token included
            logger.info("A task came after %s was closed; it was dropped", self.objectName())
            return
        self._work.put(partial(self._perform, work, on_done, on_error))

    def close(self, timeout_s: float) -> bool:
        """Let the queue run empty, join the thread, deliver the last results."""
        if not self._is_closed:
            self._is_closed = True
            self._work.put(None)
        self._thread.join(timeout_s)
        self._deliver()
        return not self._thread.is_alive()

    def _loop(self) -> None:
        while (job := self._work.get()) is not None:
            job()

    def _perform(
        self,
        work: Callable[[], T],
        on_done: Callable[[T], None] | None,
        on_error: Callable[[Exception], None] | None,
    ) -> None:
        try:
            value = work()
        except Exception as error:  # whatever it is: one failed task must not end the worker
            if on_error is None:
                logger.exception("Task failed in %s", self._thread.name)
            else:
                self._post(partial(on_error, error))
        else:
            if on_done is not None:
                self._post(partial(on_done, value))

    def _post(self, result: Callable[[], None]) -> None:
        self._results.append(result)
        # append first, look second: the GUI thread clears the flag before it empties the deque
        if not self._is_awake:
            self._is_awake = True
            self._woken.emit()

    @Slot()
    def _deliver(self) -> None:
        self._is_awake = False
        while self._results:
            self._results.popleft()()
