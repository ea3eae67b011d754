"""The bar above the chat: both side panels' buttons and the model pill between them."""

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from ui.icons import Icon, make_icon
from ui.theme import ThemeSource, set_look
from ui.widgets.model_pill import ModelPill

HEIGHT = 52
ICON = 16


class TopBar(QWidget):
    """Three things in a row; the pill stays in the middle."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_look(self, "page")
        self._themes = themes
        self.sidebar_button = QToolButton(self)
        self.pill = ModelPill(themes, self)
        self.panel_button = QToolButton(self)
        for button in (self.sidebar_button, self.panel_button):
            button.setCheckable(True)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 0, 12, 0)
        layout.setSpacing(8)
        layout.addWidget(self.sidebar_button)
        layout.addStretch(1)
        layout.addWidget(self.pill)
        layout.addStretch(1)
        layout.addWidget(self.panel_button)
        themes.changed.connect(self._on_theme)
        self._on_theme()

    def _on_theme(self) -> None:
        color = self._themes.color("muted")
        size = self._themes.px(ICON)
        self.sidebar_button.setIcon(make_icon(Icon.SIDEBAR, color, size))
        self.panel_button.setIcon(make_icon(Icon.PANEL, color, size))
        for button in (self.sidebar_button, self.panel_button):
            button.setIconSize(QSize(size, size))
        self.setFixedHeight(self._themes.px(HEIGHT))
