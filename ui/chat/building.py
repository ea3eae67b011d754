"""Making the widgets of messages near the view, nearest first and no longer than a frame bears.

A message's widget is made empty and then filled slice by slice, so that the longest answer takes
many turns of the event loop and none of them is long.
"""

from collections.abc import Callable
from time import perf_counter_ns

from PySide6.QtCore import QObject, QTimer

from ui.chat.entries import Entries, Entry
from ui.chat.items import drop_item, is_in_use

BUDGET_NS = 3_000_000


class Section:
    """Code that tells whether it runs; however it ends, afterwards it does not."""

    def __init__(self) -> None:
        self._depth = 0

    @property
    def is_running(self) -> bool:
        """Whether somebody is inside."""
        return self._depth > 0

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(self, *_error: object) -> None:
        self._depth -= 1


def drop_far(entries: Entries, near: range, *, drops_used: bool = False) -> None:
    """Drop the widgets of messages outside ``near``, save those that are in use."""
    for index, entry in enumerate(entries):
        if entry.item is not None and index not in near and (drops_used or not is_in_use(entry)):
            drop_item(entry)


def is_complete(entry: Entry) -> bool:
    """Whether a message has a widget that shows all of it."""
    return entry.item is not None and not entry.item.is_building


def build_near(
    entries: Entries, near: range, middle: float, make: Callable[[Entry], None]
) -> bool:
    """Go on with what is incomplete in ``near``, from ``middle`` outwards.

    Returns False where everything was complete.
    """
    todo = [index for index in near if not is_complete(entries[index])]
    todo.sort(key=lambda index: abs(index - middle))
    deadline = perf_counter_ns() + BUDGET_NS
    for index in todo:
        _build(entries[index], make, deadline)
        if perf_counter_ns() > deadline:
            break
    return bool(todo)


def _build(entry: Entry, make: Callable[[Entry], None], deadline: int) -> None:
    if entry.item is None:
        make(entry)
    item = entry.item
    while item is not None and item.is_building and perf_counter_ns() < deadline:
        item.build()
    entry.measured_width = 0


def soon(name: str, action: Callable[[], None], parent: QObject) -> QTimer:
    """A timer that, once started, runs an action in the next turn of the event loop."""
    timer = QTimer(parent)
    timer.setObjectName(name)
    timer.setSingleShot(True)
    timer.setInterval(0)
    timer.timeout.connect(action)
    return timer
