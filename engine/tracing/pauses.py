"""When Python's garbage collector held the process up."""

import gc
from collections import deque
from types import TracebackType
from typing import Self

from engine.metrics import Clock, now_ns

_MOST = 4_096


class CollectorWatch:
    """While entered, notes the span of each collection; costs nothing between them."""

    def __init__(self, clock: Clock = now_ns) -> None:
        self._clock = clock
        self._start_ns: int | None = None
        self._spans: deque[tuple[int, int]] = deque(maxlen=_MOST)

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """(start, end) of each collection, in ns."""
        return tuple(self._spans)

    def __enter__(self) -> Self:
        gc.callbacks.append(self._hear)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        gc.callbacks.remove(self._hear)

    def _hear(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._start_ns = self._clock()
        elif self._start_ns is not None:
            self._spans.append((self._start_ns, self._clock()))
            self._start_ns = None
