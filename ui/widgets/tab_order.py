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
    owners: set[QWidget] = set()
    stops = stops_in(made)
    earlier = (place, *_others(place, QWidget.previousInFocusChain, owners))
    outside = (w for w in earlier if w is not made and not made.isAncestorOf(w))
    before = next((w for w in outside if _is_stop(w, owners)), None)
    if before is None:
        return stops[-1] if stops else None  # nothing else is visited
    for stop in stops:
        QWidget.setTabOrder(before, stop)
        before = stop
    return before


def stops_in(made: QWidget) -> list[QWidget]:
    """What the Tab key visits of ``made``, in order."""
    owners: set[QWidget] = set()
    inside = [w for w in _others(made, QWidget.nextInFocusChain, owners) if made.isAncestorOf(w)]
    return [w for w in (made, *inside) if _is_stop(w, owners)]


def _others(
    start: QWidget, step: Callable[[QWidget], QWidget | None], owners: set[QWidget]
) -> Iterator[QWidget]:
    """All other widgets of the window, from ``start`` on."""
    widget = _owned(step(start), owners)
    while widget is not None and widget is not start:
        yield widget
        widget = _owned(step(widget), owners)


def _is_stop(widget: QWidget, owners: set[QWidget]) -> bool:
    """Whether Qt takes a widget for a place in the order."""
    is_visited = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return is_visited and _owned(widget.focusProxy(), owners) is None


def _owned(found: QWidget | None, owners: set[QWidget]) -> QWidget | None:
    """A widget that Qt handed out, which is its parent's again; nothing changes for Qt.

    ``owners``: those of earlier ones. An owner that Qt made has an owner to be said, too.
    """
    child = found
    while child is not None:
        parent = child.parentWidget()
        QObject.setParent(child, parent)
        child = None if parent in owners else parent
        if parent is not None:
            owners.add(parent)
    return found
