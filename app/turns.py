"""Lets threads take turns more often while the app starts and its first model loads.

Python's lock goes to another thread every 5 ms where both want it. The engine's thread wants it all
the time while it imports and reads; a key that is pressed meanwhile needs it several times until
its letter is painted.
"""

import sys

from PySide6.QtCore import QObject, Slot

from app.bridge import EngineBridge
from engine.api import ModelFailed, ModelReady

TURN_S = 0.001


class QuickTurns(QObject):
    """From now until the first load has ended."""

    def __init__(self, bridge: EngineBridge) -> None:
        super().__init__(bridge)
        self._usual_s = sys.getswitchinterval()
        sys.setswitchinterval(TURN_S)
        bridge.model_ready.connect(self._on_ready)
        bridge.model_failed.connect(self._on_failed)

    @Slot()
    def stop(self) -> None:
        """Take turns as ever."""
        sys.setswitchinterval(self._usual_s)

    @Slot(ModelReady)
    def _on_ready(self, _event: ModelReady) -> None:
        self.stop()

    @Slot(ModelFailed)
    def _on_failed(self, _event: ModelFailed) -> None:
        self.stop()
