"""The order of the Tab key, for what is made after its neighbours."""

from collections.abc import Callable, Iterator

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def place_after(place: QWidget, made: QWidget) -> None:
    """Let the Tab key visit ``made``, in its own order, right after ``place``.

    Qt puts what is made late behind everything else in its window.
    """

    def is_inside(widget: QWidget) -> bool:
        return widget is made or made.isAncestorOf(widget)

    stops = [w for w in _others(place, QWidget.nextInFocusChain) if _is_stop(w) and is_inside(w)]
    earlier = (place, *_others(place, QWidget.previousInFocusChain))
    before = next((w for w in earlier if _is_stop(w) and not is_inside(w)), None)
    if before is None:
        return  # nothing else is visited
    for stop in stops:
        QWidget.setTabOrder(before, stop)
        before = stop


def _others(start: QWidget, step: Callable[[QWidget], QWidget | None]) -> Iterator[QWidget]:
    """All other widgets of the window, from ``start`` on."""
    widget = step(start)
    while widget is not None and widget is not start:
        yield widget
        widget = step(widget)


def _is_stop(widget: QWidget) -> bool:
    """Whether Qt takes a widget for a place in the order."""
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
