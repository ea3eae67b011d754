"""A time limit on Python code of the present thread, through the interpreter's trace hook.

The hook looks at the clock at every call, and in the watched file at every line, and raises past
the deadline. Only time in which the thread computed counts: on a machine that is busy, or that
slept, innocent code is not stopped. It sees every loop, recursion and generator, needs no second thread or process, and
costs a few microseconds a line only while it is set. What it cannot see is the inside of one C
call: whoever uses it must keep those small; and code that catches RecursionError can lose it,
which templates cannot. A debugger or coverage tool is put back afterwards.
"""

import sys
import time
from types import FrameType, TracebackType
from typing import Any, Final, Self

# the quick clock, asked first: a thread never computes longer than time passes
_now = time.perf_counter


class RenderStopped(BaseException):
    """A template went past a limit; derives from BaseException so that nothing swallows it."""


class Deadline:
    """A context manager: code inside ends with RenderStopped once ``seconds`` have passed.

    ``watched_file``: the file name of code to be watched at every line, or at every instruction
    with ``every_instruction`` (for lines so long that one alone could take its time).
    """

    def __init__(
        self, seconds: float, *, watched_file: str, every_instruction: bool = False
    ) -> None:
        self._seconds: Final = seconds
        self._watched_file: Final = watched_file
        self._every_instruction: Final = every_instruction
        self._end = self._busy_end = 0.0
        self._previous: Any = None

    def __enter__(self) -> Self:
        self._end = _now() + self._seconds
        self._busy_end = time.thread_time() + self._seconds
        self._previous = sys.gettrace()
        sys.settrace(self._on_call)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        sys.settrace(self._previous)

    def _on_call(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        if _now() > self._end:
            self._stop_if_busy()
        if frame.f_code.co_filename != self._watched_file:
            return None
        frame.f_trace_opcodes = self._every_instruction
        return self._on_step

    def _on_step(self, _frame: FrameType, _event: str, _arg: Any) -> Any:
        if _now() > self._end:
            self._stop_if_busy()
        return self._on_step

    def _stop_if_busy(self) -> None:
        if time.thread_time() > self._busy_end:
            raise RenderStopped(f"it did not finish within {self._seconds:g} s")
