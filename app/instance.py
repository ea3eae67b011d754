"""One window a profile: a second start raises the first, hands it the model and goes away.

A lock file says who is first (the system frees it when a process dies); a local socket carries
the request to come to the front, and on a second line the model that was to be opened.
"""

import hashlib
import logging
import os
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

RAISE = b"raise\n"
MODEL = b"model "
LONGEST_LINE = 32_768
TIMEOUT_MS = 2000
ENDING_MS = 20_000
logger = logging.getLogger(__name__)


class SingleInstance(QObject):
    """Holds the profile of ``lock`` for this process, once ``claim`` said so."""

    raise_requested = Signal()
    model_requested = Signal(str)  # an absolute path

    def __init__(self, lock: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = QLockFile(str(lock))
        self._lock.setStaleLockTime(0)  # a long run is no stale one; a dead process is
        digest = hashlib.sha256(str(lock.resolve()).encode()).hexdigest()[:16]
        self._name = f"tokentide-{digest}"
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)

    def claim(self, model: str | None = None) -> bool:
        """Become the one instance; False when another is, which is then asked to show itself.

        ``model``: what it is to load then.

        One that no longer listens is about to end: it is waited for. A folder that cannot hold a
        lock does not keep the app from starting.
        """
        if not self._lock.tryLock(0):
            if self._lock.error() is not QLockFile.LockError.LockFailedError:
                logger.warning("No instance lock: %s", self._lock.error())
                return True
            if self._ask_to_raise(model) or not self._lock.tryLock(ENDING_MS):
                return False
        QLocalServer.removeServer(self._name)  # left by a process that was killed
        if not self._server.listen(self._name):
            logger.warning("No instance socket: %s", self._server.errorString())
        return True

    def stop_listening(self) -> None:
        """The window is closed: there is nothing left to raise."""
        self._server.close()

    def release(self) -> None:
        """Let another instance start."""
        self._server.close()
        self._lock.unlock()

    def _ask_to_raise(self, model: str | None) -> bool:
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if not socket.waitForConnected(TIMEOUT_MS):
            return False
        socket.write(RAISE)
        if model is not None:
            socket.write(MODEL + os.fsencode(Path(model).expanduser().absolute()) + b"\n")
        socket.waitForBytesWritten(TIMEOUT_MS)
        socket.disconnectFromServer()
        return True

    @Slot()
    def _on_connection(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.disconnected.connect(socket.deleteLater)
            socket.readyRead.connect(self._on_line)
            self.raise_requested.emit()
            self._read(socket)  # what came before anybody listened

    @Slot()
    def _on_line(self) -> None:
        socket = self.sender()
        if isinstance(socket, QLocalSocket):
            self._read(socket)

    def _read(self, socket: QLocalSocket) -> None:
        while socket.canReadLine():
            line = bytes(socket.readLine(LONGEST_LINE).data())
            if line.startswith(MODEL) and line.endswith(b"\n"):
                self.model_requested.emit(os.fsdecode(line.removeprefix(MODEL)[:-1]))
