"""The place of a page that is made when it is first shown."""

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget
from typing_extensions import override

from ui.widgets.tab_order import place_after


class LatePage(QWidget):
    """``wanted`` carries the page's name: somebody looks at the place, and it is empty."""

    wanted = Signal(str)
    closed = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._focus_first: Callable[[], object] | None = None
        self._is_focus_wanted = False
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)

    def put(self, page: QWidget, focus_first: Callable[[], object]) -> None:
        """Let the page, a child of this place, fill it; ``focus_first`` gives it the keyboard."""
        self._focus_first = focus_first
        self._layout.addWidget(page)
        place_after(self, page)
        page.show()
        if self._is_focus_wanted and self.isVisible():
            focus_first()
        self._is_focus_wanted = False

    def focus_first(self) -> None:
        """Give the page the keyboard, now or when it is there."""
        if self._focus_first is None:
            self._is_focus_wanted = True
        else:
            self._focus_first()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._focus_first is None:
            self.wanted.emit(self._name)
