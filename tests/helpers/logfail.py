"""An unexpected warning or error in the log fails the test that caused it.

Knows the root logger only. Libraries that do not propagate to it (transformers) are not seen.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

from typing_extensions import override


class LogFail(logging.Handler):
    """Collects records of level WARNING and above from every thread.

    A test that provokes one says so first: ``logfail.expect("could not be saved")``. An expected
    record that never comes is a failure too.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._expected: dict[str, int] = {}
        self._unexpected: list[str] = []

    def expect(self, pattern: str) -> None:
        """Allow records whose message matches ``pattern`` (re.search), and require at least one."""
        self._expected.setdefault(pattern, 0)

    @override
    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        for pattern in self._expected:
            if re.search(pattern, message):
                self._expected[pattern] += 1
                return
        self._unexpected.append(f"{record.levelname} {record.name}: {message}")

    def complaints(self) -> list[str]:
        """What is wrong with the log of the test, one sentence each."""
        missing = [pattern for pattern, count in self._expected.items() if count == 0]
        return [f"unexpected log record: {line}" for line in self._unexpected] + [
            f"expected log record never came: {pattern!r}" for pattern in missing
        ]


@contextmanager
def watch_log() -> Iterator[LogFail]:
    """Hang a LogFail on the root logger for a while."""
    handler = LogFail()
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield handler
    finally:
        root.removeHandler(handler)
