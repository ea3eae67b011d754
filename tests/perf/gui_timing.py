"""What the measurements of the window share: an application that times its events; percentiles."""

import gc
from collections.abc import Sequence
from importlib import import_module
from time import perf_counter_ns, thread_time_ns

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication

PARAGRAPH = (
    "Each new token reads **every weight** and the `KV cache` once, so each step moves a little "
    "more memory than the one before. The weights stay the *same* size.\n\n"
)
LIST = "".join(
    f"{number}. Item {number} with some **bold** words and `code` in a line that wraps around at "
    "the end of the column, as lists in answers do\n"
    for number in range(1, 13)
)
CODE = (
    "```python\n"
    + "def step(plan: Plan) -> Output:\n    return runner.run(plan)\n" * 12
    + "```\n\n"
)
TABLE = "| Layer | Time |\n|:--|--:|\n" + "| attention | 1.2 ms |\n" * 10 + "\n"
ANSWER = PARAGRAPH * 3 + LIST + "\n" + CODE + TABLE + "> A quote.\n\n" + PARAGRAPH * 2


def settle_in() -> None:
    """Do as the app does before an answer can come: import what shows one, and set it all apart."""
    import_module("ui.chat.assistant_item")
    gc.collect()
    gc.freeze()


class TimedApplication(QApplication):
    """Notes the longest event, by the clock and by the thread's own CPU time.

    Other programs lengthen the first and not the second.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(list(arguments))
        self.longest_ns = 0
        self.longest_what = ""
        self.cpu_ns: list[int] = []
        self._is_inside = False

    def forget(self) -> None:
        """Begin anew."""
        self.longest_ns = 0
        self.longest_what = ""
        self.cpu_ns.clear()

    def notify(self, receiver: QObject, event: QEvent) -> bool:
        if self._is_inside:
            return super().notify(receiver, event)
        self._is_inside = True
        began, began_cpu = perf_counter_ns(), thread_time_ns()
        kind = event.type()
        try:
            return super().notify(receiver, event)
        finally:
            self._is_inside = False
            self.cpu_ns.append(thread_time_ns() - began_cpu)
            spent = perf_counter_ns() - began
            if spent > self.longest_ns:
                self.longest_ns = spent
                self.longest_what = f"{kind.name} of {type(receiver).__name__}"

    def events(self) -> dict[str, object]:
        """What was noted, in ms."""
        return {
            "longest_event_ms": round(self.longest_ns / 1e6, 2),
            "longest_event": self.longest_what,
            "event_cpu_ms": percentiles([value / 1e6 for value in self.cpu_ns]),
        }


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """p50, p99 and the maximum; empty of nothing."""
    if not values:
        return {}
    ordered = sorted(values)
    p50, p99 = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    return {"p50": round(p50, 2), "p99": round(p99, 2), "max": round(ordered[-1], 2)}
