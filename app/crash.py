"""What happens to an exception nobody caught, and to a crash below Python.

Both leave a report file; the next start finds it and says so. Knows no Qt.
"""

import faulthandler
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TextIO

REPORT_NAME = "crash.txt"
logger = logging.getLogger(__name__)


class CrashWatch:
    """Writes a report into ``folder`` when this process goes wrong.

    ``previous`` is the report that the last run left, moved to a name of its own, or None.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._report = folder / REPORT_NAME
        self._file: TextIO | None = None
        self._hooks = (sys.excepthook, threading.excepthook)
        self.previous: Path | None = None

    def start(self) -> None:
        """Take over the hooks. Without a writable folder, exceptions still reach the log."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self.previous = self._set_aside()
            # held open for the life of the process: faulthandler writes to it while crashing
            self._file = self._report.open("w", encoding="utf-8")
            faulthandler.enable(self._file)
        except OSError as error:
            logger.warning("No crash reports: %s", error)
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception

    def stop(self) -> None:
        """Give the hooks back; a report without content is removed."""
        sys.excepthook, threading.excepthook = self._hooks
        if self._file is None:
            return
        faulthandler.disable()
        self._file.close()
        self._file = None
        if self._report.stat().st_size == 0:
            self._report.unlink()

    def _set_aside(self) -> Path | None:
        if not self._report.is_file() or self._report.stat().st_size == 0:
            return None
        at = datetime.fromtimestamp(self._report.stat().st_mtime, UTC)
        kept = self._folder / f"crash-{at:%Y%m%d-%H%M%S}.txt"
        self._report.replace(kept)
        return kept

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self._hooks[0](kind, error, trace)
            return
        self._write(kind, error, trace, threading.current_thread().name)

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            name = args.thread.name if args.thread else "unknown thread"
            self._write(args.exc_type, args.exc_value, args.exc_traceback, name)

    def _write(
        self,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
        thread: str,
    ) -> None:
        logger.critical("Uncaught exception in %s", thread, exc_info=(kind, error, trace))
        if self._file is not None:
            self._file.write(f"Uncaught exception in thread {thread}\n")
            traceback.print_exception(kind, error, trace, file=self._file)
            self._file.flush()
