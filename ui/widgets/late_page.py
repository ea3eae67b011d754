"""The place of a page that is made when it is first shown."""

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget
from typing_extensions import override

from ui.i18n import tr
from ui.widgets.tab_order import place_after


class LatePage(QWidget):
    """``wanted`` carries the page's name: somebody looks at the place, and it is empty.

    An empty place holds the keyboard for its page, and is read aloud by the page's ``title``.
    """

    wanted = Signal(str)
    closed = Signal()

    def __init__(self, name: str, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._focus_first: Callable[[], object] | None = None
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(title)
        self.setAccessibleDescription(tr("One moment: this page is being made."))
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)

    def put(self, page: QWidget, focus_first: Callable[[], object]) -> None:
        """Let the page, a child of this place, fill it; ``focus_first`` gives it the keyboard.

        That happens at once where this place holds it still, and nobody took it elsewhere.
        """
        self._focus_first = focus_first
        self._layout.addWidget(page)
        place_after(self, page)
        page.show()
        if self.isVisible() and self.window().focusWidget() is self:
            focus_first()
        # from here on the page speaks for itself
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName("")
        self.setAccessibleDescription("")

    def focus_first(self) -> None:
        """Give the page the keyboard, now or when it is there."""
        if self._focus_first is None:
            self.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self._focus_first()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._focus_first is None:
            self.wanted.emit(self._name)
