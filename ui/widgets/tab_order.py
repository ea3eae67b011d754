"""The order of the Tab key, for what is made after its neighbours."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def place_after(place: QWidget, made: QWidget) -> None:
    """Let the Tab key visit ``made``, in its own order, right after ``place``.

    Qt puts what is made late behind everything else in its window.
    """
    stops = []
    widget = place.nextInFocusChain()
    while widget is not place:
        if _is_stop(widget) and (widget is made or made.isAncestorOf(widget)):
            stops.append(widget)
        widget = widget.nextInFocusChain()
    before = place
    while not _is_stop(before) or before is made or made.isAncestorOf(before):
        before = before.previousInFocusChain()
        if before is place:
            return  # nothing else is visited
    for stop in stops:
        QWidget.setTabOrder(before, stop)
        before = stop


def _is_stop(widget: QWidget) -> bool:
    """Whether Qt takes a widget for a place in the order."""
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
