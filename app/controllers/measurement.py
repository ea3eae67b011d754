"""One run of the engine's evaluation, as a program of its own with low priority.

Reads what the program says as it comes; nothing here waits, save ``close``, which lets a killed
program end.
"""

import logging
import sys
import time
from collections.abc import Sequence

import psutil
from PySide6.QtCore import QObject, QProcess, Signal, Slot

from app.controllers.failures import words_of_program
from app.quality.evaluation import (
    engine_folder,
    failure_in,
    progress_in,
    result_in,
    sentence_in,
)

_NICENESS = 10
_MAX_LINES = 200
_END_MS = 2_000
logger = logging.getLogger(__name__)


class Measurement(QObject):
    """Runs one program at a time.

    ``measured``: its result and the seconds it took. ``failed``: why there is none, in the
    reader's language where the program tells of a known failure, else in its own words, which may
    be empty. Neither follows ``cancel``.
    """

    progressed = Signal(float)
    measured = Signal(dict, float)
    failed = Signal(str)

    def __init__(self, command: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._command = list(command)
        self._process: QProcess | None = None
        self._lines: list[str] = []
        self._rest = b""
        self._began_s = 0.0

    @property
    def is_running(self) -> bool:
        """Whether a program runs."""
        return self._process is not None

    def start(self, arguments: Sequence[str]) -> None:
        """Start the program; nothing else may run."""
        assert self._process is None
        process = QProcess(self)
        process.setProgram(self._command[0])
        process.setArguments([*self._command[1:], *arguments])
        process.setWorkingDirectory(str(engine_folder()))
        if sys.platform != "win32":
            # a plain fork would copy the page tables of a process that holds a model
            parameters = QProcess.UnixProcessParameters()
            parameters.flags = QProcess.UnixProcessFlag.UseVFork
            process.setUnixProcessParameters(parameters)
        process.started.connect(self._on_started)
        process.readyReadStandardError.connect(self._on_words)
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        self._process = process
        self._lines, self._rest = [], b""
        self._began_s = time.monotonic()
        process.start()

    def cancel(self) -> None:
        """Kill the program; nothing more is said of it."""
        if (process := self._take()) is not None:
            process.kill()
            process.finished.connect(process.deleteLater)

    def close(self) -> None:
        """Kill the program and see it end."""
        if (process := self._take()) is not None:
            process.kill()
            if not process.waitForFinished(_END_MS):
                logger.warning("The measurement did not end in time")
            process.deleteLater()

    def _take(self) -> QProcess | None:
        """The program, which is not listened to any more."""
        process, self._process = self._process, None
        if process is not None:
            process.started.disconnect(self._on_started)
            process.readyReadStandardError.disconnect(self._on_words)
            process.finished.disconnect(self._on_finished)
            process.errorOccurred.disconnect(self._on_error)
        return process

    @Slot()
    def _on_started(self) -> None:
        if self._process is None:
            return
        try:
            program = psutil.Process(self._process.processId())
            if sys.platform == "win32":
                program.nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
            else:
                program.nice(_NICENESS)
        except psutil.Error as error:  # it has ended already
            logger.info("The measurement keeps its priority: %s", error)

    @Slot()
    def _on_words(self) -> None:
        if self._process is None:
            return
        told = self._rest + bytes(self._process.readAllStandardError().data())
        *whole, self._rest = told.split(b"\n")
        lines = [_text(line) for line in whole]
        self._lines = [*self._lines, *lines][-_MAX_LINES:]
        if (part := progress_in(lines)) is not None:
            self.progressed.emit(part)

    @Slot(int, QProcess.ExitStatus)
    def _on_finished(self, code: int, _status: QProcess.ExitStatus) -> None:
        self._on_words()
        if (process := self._take()) is None:
            return
        result = result_in(_text(process.readAllStandardOutput().data()))
        process.deleteLater()
        if result and code == 0:
            self.measured.emit(result, time.monotonic() - self._began_s)
        else:
            lines = [*self._lines, _text(self._rest)]
            failure = failure_in(lines)
            self.failed.emit(sentence_in(lines) if failure is None else words_of_program(failure))

    @Slot(QProcess.ProcessError)
    def _on_error(self, error: QProcess.ProcessError) -> None:
        # whatever began to run also finishes, and says so there
        if error is QProcess.ProcessError.FailedToStart and (process := self._take()) is not None:
            words = process.errorString()
            process.deleteLater()
            self.failed.emit(words)


def _text(data: bytes | bytearray | memoryview) -> str:
    return bytes(data).decode("utf-8", errors="replace")
