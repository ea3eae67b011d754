"""The Inspector's page: a row of views over one of them. Knows no view from within."""

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QTabBar, QVBoxLayout, QWidget
from typing_extensions import override

from ui.i18n import tr
from ui.theme import set_look
from ui.widgets.tab_order import place_after


class InspectorPage(QWidget):
    """One view at a time. ``shown_changed`` carries the name of the one on the screen, or "".

    Whoever fills a view needs to work only while it is on the screen.
    """

    shown_changed = Signal(str)

    def __init__(self, views: Mapping[str, QWidget], parent: QWidget | None = None) -> None:
        """``views`` by their names: "answer", "tokens", "cache", "machine"."""
        super().__init__(parent)
        self.setObjectName("inspectorPage")
        self._names = tuple(views)
        self._shown = ""
        self._tabs = QTabBar(self)
        self._tabs.setDrawBase(False)
        self._tabs.setExpanding(True)
        self._tabs.setAccessibleName(tr("Views of the inspector"))
        set_look(self._tabs, "views")
        self.setFocusProxy(self._tabs)  # whoever hands the page the focus means them
        titles = {
            "answer": tr("Answer"),
            "tokens": tr("Tokens"),
            "cache": tr("Cache"),
            "machine": tr("Machine"),
        }
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        line = QFrame(self)
        set_look(line, "hairline")
        layout.addWidget(self._tabs)
        layout.addWidget(line)
        self._areas: list[QScrollArea] = []
        for name, view in views.items():
            self._tabs.addTab(titles[name])
            area = self._area(view)
            self._areas.append(area)
            layout.addWidget(area, 1)
        self._tabs.currentChanged.connect(self._on_tab)
        self._on_tab(0)

    @property
    def shown(self) -> str:
        """The view on the screen; empty while the page is hidden."""
        return self._shown

    def show_view(self, name: str) -> None:
        """Choose a view."""
        self._tabs.setCurrentIndex(self._names.index(name))

    def place_of(self, name: str) -> QWidget:
        """The parent for a view that is made later."""
        return self._areas[self._names.index(name)].viewport()

    def put_view(self, name: str, view: QWidget) -> None:
        """Show a view that was made later in place of what stood for it; whoever fills it is told."""
        area = self._areas[self._names.index(name)]
        _place(area, view)
        place_after(area, view)
        if self._shown == name:
            self.shown_changed.emit(name)

    def _area(self, view: QWidget) -> QScrollArea:
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        _place(area, view)
        return area

    def _on_tab(self, index: int) -> None:
        for number, area in enumerate(self._areas):
            area.setVisible(number == index)
        self._tell()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._tell()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._tell()

    def _tell(self) -> None:
        shown = self._names[self._tabs.currentIndex()] if self._names and self.isVisible() else ""
        if shown != self._shown:
            self._shown = shown
            self.shown_changed.emit(shown)


def _place(area: QScrollArea, view: QWidget) -> None:
    # a narrow panel squeezes the lines; it never scrolls sideways
    view.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    set_look(view, "clear")
    area.setWidget(view)
