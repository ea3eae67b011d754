"""The order of the Tab key, for what is made after its neighbours.

PySide takes a widget for the owner of whatever Qt hands out for it: here, of its neighbour. A window
would then count as deleted with its last button, and be collected while it is shown. So for each
neighbour that is asked for the real owner is said anew.
"""

from collections.abc import Callable, Iterator

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget


def place_after(place: QWidget, made: QWidget) -> QWidget | None:
    """Let the Tab key visit ``made``, in its own order, right after ``place``.

    Returns what it visits last of ``made``, or right before where nothing in there is visited. Qt
    puts what is made late behind everything else in its window.
    """

    def is_inside(widget: QWidget) -> bool:
        return widget is made or made.isAncestorOf(widget)

    stops = [w for w in _others(place, QWidget.nextInFocusChain) if _is_stop(w) and is_inside(w)]
    earlier = (place, *_others(place, QWidget.previousInFocusChain))
    before = next((w for w in earlier if _is_stop(w) and not is_inside(w)), None)
    if before is None:
        return stops[-1] if stops else None  # nothing else is visited
    for stop in stops:
        QWidget.setTabOrder(before, stop)
        before = stop
    return before


def _others(start: QWidget, step: Callable[[QWidget], QWidget | None]) -> Iterator[QWidget]:
    """All other widgets of the window, from ``start`` on."""
    widget = _owned(step(start))
    while widget is not None and widget is not start:
        yield widget
        widget = _owned(step(widget))


def _is_stop(widget: QWidget) -> bool:
    """Whether Qt takes a widget for a place in the order."""
    is_visited = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return is_visited and _owned(widget.focusProxy()) is None


def _owned(found: QWidget | None) -> QWidget | None:
    """A widget that Qt handed out, with its parent for its owner; nothing changes for Qt."""
    if found is not None:
        QObject.setParent(found, found.parentWidget())
    return found
