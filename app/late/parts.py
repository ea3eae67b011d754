"""Makes parts of the window step by step, so that no step holds up a frame.

A part is a generator: what lies between two ``yield`` is one step. Parts that somebody waits for go
first; the others are made, a step now and then, while there is nothing else to do. Lives in the GUI
thread and knows no part.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from time import perf_counter_ns

from PySide6.QtCore import QObject, QTimer, Slot

TURN_NS = 6_000_000
PAUSE_MS = 20
BUSY_MS = 250
Steps = Iterator[None]


def imports(*names: str) -> Steps:
    """Import modules, each in a step of its own: name what a module needs before the module."""
    for name in names:
        import_module(name)
        yield


class LateParts(QObject):
    """Parts by their names, in the order in which they were added."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._steps: dict[str, Steps] = {}
        self._wanted: list[str] = []
        self._then: dict[str, list[Callable[[], object]]] = {}
        self._is_idle: Callable[[], bool] | None = None
        self._timer = QTimer(self)
        self._timer.setObjectName("late-parts")
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._turn)

    def add(self, name: str, steps: Steps) -> None:
        """Say how a part is made; nothing runs yet."""
        self._steps[name] = steps

    def is_made(self, name: str) -> bool:
        """Whether nothing of a part is left to be made."""
        return name not in self._steps

    @Slot(str)
    def want(self, name: str) -> None:
        """Somebody waits for a part: it is made from the next turn of the event loop on."""
        if name in self._steps and name not in self._wanted:
            self._wanted.append(name)
            self._timer.start(0)

    def after(self, name: str, action: Callable[[], object]) -> None:
        """Run an action once a part is made, which is then wanted; at once where it is."""
        if self.is_made(name):
            action()
        else:
            self._then.setdefault(name, []).append(action)
            self.want(name)

    def begin(self, is_idle: Callable[[], bool]) -> None:
        """From now on make what nobody waits for, while ``is_idle()``."""
        self._is_idle = is_idle
        if self._steps and not self._timer.isActive():
            self._timer.start(PAUSE_MS)

    def finish(self) -> None:
        """Make everything that is left, now."""
        while self._steps:
            self._step(next(iter(self._steps)))
        self._timer.stop()

    def stop(self) -> None:
        """Make nothing more."""
        self._timer.stop()
        self._steps.clear()
        self._wanted.clear()
        self._then.clear()

    @Slot()
    def _turn(self) -> None:
        is_idle = self._is_idle
        pause_ms = 0
        try:
            if self._wanted:
                deadline = perf_counter_ns() + TURN_NS
                while self._wanted and perf_counter_ns() < deadline:
                    self._step(self._wanted[0])
            elif self._steps and is_idle is not None:
                pause_ms = BUSY_MS
                if is_idle():
                    pause_ms = PAUSE_MS
                    self._step(next(iter(self._steps)))
        finally:  # a part that fails does not keep the others from being made
            if self._wanted or (self._steps and is_idle is not None):
                self._timer.start(pause_ms)

    def _step(self, name: str) -> None:
        """Go one step on; a part that is made is told of."""
        try:
            next(self._steps[name])
        except StopIteration:
            for action in self._forget(name):
                action()
        except Exception:
            self._forget(name)  # what waits for it would find it half made
            raise

    def _forget(self, name: str) -> Sequence[Callable[[], object]]:
        """Take a part off the list; returns what was to follow."""
        self._steps.pop(name, None)
        if name in self._wanted:
            self._wanted.remove(name)
        return self._then.pop(name, ())
