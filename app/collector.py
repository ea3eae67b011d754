"""Spares Python's garbage collector what stays for as long as the program runs.

A full collection looks at every object and holds all threads up meanwhile, in the middle of an
answer or of a frame. Once torch is imported that is 0.1 s on the machine this was written on::

    python -c "import app.composition, engine.core, gc, timeit; print(timeit.timeit(gc.collect, number=1))"

While the app starts there is nothing to collect, and every import makes more to look at: full
collections wait. The engine says for the first time how a load goes when all imports are done and
no weights are there yet: what exists then is set apart. Models come later, and are collected as
before.
"""

import gc

from PySide6.QtCore import QObject, Qt, QTimer, Slot

from app.bridge import EngineBridge
from engine.api import LoadProgress

NEVER = 1_000_000  # collections of younger objects before a full one
START_MS = 60_000  # a start without a model has no news of a load


class ImportsSpared(QObject):
    """Puts full collections off, and sets everything apart once, at the first news of a load."""

    def __init__(self, bridge: EngineBridge) -> None:
        super().__init__(bridge)
        self._thresholds = gc.get_threshold()
        gc.set_threshold(*self._thresholds[:2], NEVER)
        self._timer = QTimer(self)
        self._timer.setObjectName("imports-spared")
        self._timer.setSingleShot(True)
        self._timer.setInterval(START_MS)
        self._timer.timeout.connect(self.stop)
        self._timer.start()
        bridge.load_progressed.connect(self._spare, Qt.ConnectionType.SingleShotConnection)

    @Slot()
    def stop(self) -> None:
        """Collect as ever."""
        self._timer.stop()
        gc.set_threshold(*self._thresholds)

    @Slot(LoadProgress)
    def _spare(self, _progress: LoadProgress) -> None:
        gc.freeze()
        self.stop()
