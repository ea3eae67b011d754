"""What the commands write on the terminal besides the answer itself: progress and quiet lines."""

import os
import signal
import sys
from types import FrameType, TracebackType
from typing import Any, Self

from engine.api import LoadProgress, LoadStage

_GREY = "\033[90m"
_PLAIN = "\033[0m"
_CLEAR_LINE = "\r\033[K"


def write_quiet(text: str) -> None:
    """One grey line on stderr; without colour where there is no terminal or NO_COLOR is set."""
    coloured = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    print(f"{_GREY}{text}{_PLAIN}" if coloured else text, file=sys.stderr, flush=True)


class LoadLine:
    """Shows on a terminal how far a load is, in one line that vanishes at the end."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._last = ""

    def __call__(self, progress: LoadProgress) -> None:
        """Show ``progress``."""
        if not self._is_shown:
            return
        text = "Loading the model"
        if progress.stage is LoadStage.WEIGHTS and progress.total > 0:
            text += f": {100 * progress.done // progress.total} %"
        if text != self._last:
            self._last = text
            print(f"{_CLEAR_LINE}{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._last:
            print(_CLEAR_LINE, end="", file=sys.stderr, flush=True)


class StopOnInterrupt:
    """While entered, Ctrl+C does not raise: it sets ``is_stopped``, so that a step can end well.

    ``signals``: others that do the same.
    """

    def __init__(self, *signals: signal.Signals) -> None:
        self._stopped = False
        self._signals = (signal.SIGINT, *signals)
        self._previous: dict[signal.Signals, Any] = {}

    def is_stopped(self) -> bool:
        """Whether Ctrl+C was pressed."""
        return self._stopped

    def __enter__(self) -> Self:
        for number in self._signals:
            self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._stopped = True
