"""Spares Python's garbage collector what stays for as long as the program runs.

A full collection looks at every object and holds all threads up meanwhile, in the middle of an
answer or of a frame. Once torch is imported that is 0.1 s on the machine this was written on::

    python -c "import app.composition, engine.core, gc, timeit; print(timeit.timeit(gc.collect, number=1))"

The engine says for the first time how a load goes when all imports are done and no weights are
there yet: what exists then is set apart. Models come later, and are collected as before.
"""

import gc

from PySide6.QtCore import QObject, Qt, Slot

from app.bridge import EngineBridge
from engine.api import LoadProgress


class ImportsSpared(QObject):
    """Sets everything apart once, at the first news of a load."""

    def __init__(self, bridge: EngineBridge) -> None:
        super().__init__(bridge)
        bridge.load_progressed.connect(self._spare, Qt.ConnectionType.SingleShotConnection)

    @Slot(LoadProgress)
    def _spare(self, _progress: LoadProgress) -> None:
        gc.freeze()
