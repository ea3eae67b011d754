"""The right panel: a row of tabs over one page at a time."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QTabBar, QVBoxLayout, QWidget

from ui.i18n import tr
from ui.theme import ThemeSource, set_look

SIDE = 18
HEIGHT = 52


class SidePanel(QWidget):
    """Tabs aligned with the pages' margin, as high as the top bar beside them."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        set_look(self, "page")
        self._themes = themes
        self._tabs = QTabBar(self)
        self._tabs.setDrawBase(False)
        self._tabs.setExpanding(False)
        self._tabs.setAccessibleName(tr("Right panel"))
        self._stack = QStackedWidget(self)
        self._tabs.currentChanged.connect(self._stack.setCurrentIndex)
        self._head = QWidget(self)
        head = QHBoxLayout(self._head)
        head.setContentsMargins(SIDE, 0, SIDE, 0)
        head.addWidget(self._tabs, 1, Qt.AlignmentFlag.AlignBottom)
        line = QFrame(self)
        set_look(line, "hairline")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._head)
        layout.addWidget(line)
        layout.addWidget(self._stack, 1)
        themes.changed.connect(self._on_theme)
        self._on_theme()

    def add_page(self, page: QWidget, title: str) -> None:
        """Add a page behind the others."""
        self._stack.addWidget(page)
        self._tabs.addTab(title)

    @property
    def current_index(self) -> int:
        """Which page is shown, from 0."""
        return self._tabs.currentIndex()

    def show_index(self, index: int) -> None:
        """Show a page by number; one that is not there is ignored."""
        if 0 <= index < self._tabs.count():
            self._tabs.setCurrentIndex(index)

    def show_page(self, page: QWidget) -> None:
        """Show a page that was added."""
        self.show_index(self._stack.indexOf(page))

    def _on_theme(self) -> None:
        self._head.setFixedHeight(self._themes.px(HEIGHT))
