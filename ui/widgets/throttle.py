"""Coalesces bursts of calls on the GUI thread."""

from collections.abc import Callable
from time import perf_counter_ns

from PySide6.QtCore import QObject, QTimer

FRAME_MS = 33
_NS_PER_MS = 1_000_000


class Throttle(QObject):
    """Runs an action at once, then at most every ``interval_ms``; calls between become one.

    An action that takes long is given longer pauses, so that it never uses more than a third of
    the thread. A pause in which nothing is called wakes nobody.
    """

    def __init__(
        self, name: str, action: Callable[[], None], interval_ms: int, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._action = action
        self._interval_ns = interval_ms * _NS_PER_MS
        self._pause_ends_ns = 0
        self._timer = QTimer(self)
        self._timer.setObjectName(name)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._run)

    def call(self) -> None:
        """Run the action now, or soon when it has just run."""
        if self._timer.isActive():
            return
        wait_ns = self._pause_ends_ns - perf_counter_ns()
        if wait_ns <= 0:
            self._run()
        else:
            self._timer.start(-(-wait_ns // _NS_PER_MS))

    def flush(self) -> None:
        """Run a call that still waits, now."""
        if self._timer.isActive():
            self._timer.stop()
            self._run()

    def cancel(self) -> None:
        """Forget a call that still waits, and the pause."""
        self._pause_ends_ns = 0
        self._timer.stop()

    def _run(self) -> None:
        began_ns = perf_counter_ns()
        self._action()
        ended_ns = perf_counter_ns()
        self._pause_ends_ns = ended_ns + max(self._interval_ns, 2 * (ended_ns - began_ns))


class Debounce(QObject):
    """Runs an action once calls have paused for ``pause_ms``."""

    def __init__(
        self, name: str, action: Callable[[], None], pause_ms: int, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._action = action
        self._timer = QTimer(self)
        self._timer.setObjectName(name)
        self._timer.setSingleShot(True)
        self._timer.setInterval(pause_ms)
        self._timer.timeout.connect(self._timeout)

    def call(self) -> None:
        """Run the action after the next pause."""
        self._timer.start()

    def flush(self) -> None:
        """Run a call that still waits, now."""
        if self._timer.isActive():
            self._timer.stop()
            self._action()

    def cancel(self) -> None:
        """Forget a call that still waits."""
        self._timer.stop()

    def _timeout(self) -> None:
        self._action()
