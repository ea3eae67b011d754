"""What a test must not leave behind: running threads, running timers, top-level widgets.

Each function returns sentences; an empty list is a clean test.
"""

import gc
import threading
import weakref
from collections.abc import Callable, Iterable

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

JOIN_SECONDS = 3.0
# started once by a library for the life of the process, and idle
LIBRARY_THREADS = (
    "tqdm_monitor",
    "TMonitor",
    "pydevd",
    "pytest_timeout",
    "Thread-auto_conversion",
)


def new_threads(before: Iterable[threading.Thread]) -> list[str]:
    """Name the threads that were started since ``before`` and do not end within a few seconds."""
    known = set(before)
    fresh = [
        thread
        for thread in threading.enumerate()
        if thread not in known
        and not isinstance(thread, threading._DummyThread)  # a native thread that called in
        and not thread.name.startswith(LIBRARY_THREADS)
    ]
    for thread in fresh:
        if thread is not threading.current_thread():
            thread.join(JOIN_SECONDS)
    return [f"thread still running: {thread.name}" for thread in fresh if thread.is_alive()]


class QtWatch:
    """Remembers timers started by Python code, and the top-level widgets that were there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._timers: weakref.WeakSet[QTimer] = weakref.WeakSet()
        self._widgets = set(map(id, QApplication.topLevelWidgets()))
        start: Callable[..., None] = QTimer.start

        def remember(timer: QTimer, *args: int) -> None:
            self._timers.add(timer)
            start(timer, *args)

        monkeypatch.setattr(QTimer, "start", remember)

    def complaints(self) -> list[str]:
        """Name the timers that still run and the top-level widgets that still live."""
        self._delete_the_deferred()
        if not (self._timers_running() + self._widgets_left()):
            return []
        gc.collect()
        self._delete_the_deferred()
        return self._timers_running() + self._widgets_left()

    @staticmethod
    def undress() -> None:
        """Take the style sheet off that a window gave the app.

        The next window finds the app as a first start does; else it would be polished twice, in
        the old sheet while it is built and in its own.
        """
        app = QApplication.instance()
        if isinstance(app, QApplication) and app.styleSheet():
            app.setStyleSheet("")

    def _timers_running(self) -> list[str]:
        return [
            f"timer still running: {timer.objectName() or timer!r} (parent {timer.parent()!r})"
            for timer in tuple(self._timers)
            if isValid(timer) and timer.isActive()
        ]

    def _widgets_left(self) -> list[str]:
        return [
            f"top-level widget left: {widget!r}"
            for widget in QApplication.topLevelWidgets()
            if id(widget) not in self._widgets and widget.isVisible()
        ]

    @staticmethod
    def _delete_the_deferred() -> None:
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
