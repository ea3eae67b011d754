"""Coalesces bursts of calls on the GUI thread."""

from collections.abc import Callable
from time import perf_counter_ns

from PySide6.QtCore import QObject, QTimer

FRAME_MS = 33


class Throttle(QObject):
    """Runs an action at once, then at most every ``interval_ms``; calls between become one.

    An action that takes long is given longer pauses, so that it never uses more than a third of
    the thread.
    """

    def __init__(
        self, name: str, action: Callable[[], None], interval_ms: int, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._action = action
        self._interval_ms = interval_ms
        self._is_wanted = False
        self._timer = QTimer(self)
        self._timer.setObjectName(name)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._timeout)

    def call(self) -> None:
        """Run the action now, or soon when it has just run."""
        if self._timer.isActive():
            self._is_wanted = True
        else:
            self._run()

    def flush(self) -> None:
        """Run a call that still waits, now."""
        if self._is_wanted:
            self._timer.stop()
            self._run()

    def cancel(self) -> None:
        """Forget a call that still waits, and the pause."""
        self._is_wanted = False
        self._timer.stop()

    def _timeout(self) -> None:
        if self._is_wanted:
            self._run()

    def _run(self) -> None:
        self._is_wanted = False
        began = perf_counter_ns()
        self._action()
        cost_ms = (perf_counter_ns() - began) // 1_000_000
        self._timer.start(max(self._interval_ms, 2 * cost_ms))


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
