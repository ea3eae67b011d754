"""The window: list, chat and right panel in a row, the model pill above the chat, the keys.

Puts ready pages together and keeps them in shape at every width; what happens inside a page is
the page's affair, and what follows from a signal is the controllers'. Imports no torch.
"""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QByteArray, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QAction, QCloseEvent, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QMainWindow,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from ui import actions
from ui.i18n import tr
from ui.inspector.page import InspectorPage
from ui.meters.live import LiveMeters
from ui.settings.panel import SettingsPanel
from ui.sidebar.panel import Sidebar
from ui.theme import MAX_ZOOM, MIN_ZOOM, PANEL_WIDTH, SIDEBAR_WIDTH, ThemeSource, set_look
from ui.widgets.action_bar import ActionBar
from ui.widgets.folding import Folding, WidthClass
from ui.widgets.late_page import LatePage
from ui.widgets.model_menu import ModelMenu
from ui.widgets.model_pill import ModelPillState
from ui.widgets.shortcut_sheet import ShortcutSheet, key_words
from ui.widgets.side_panel import SidePanel
from ui.widgets.top_bar import TopBar

MIN_SIZE = (380, 420)
FIRST_SIZE = (1360, 860)
FRAME = (16, 48)  # what a system puts around a window, about
PANEL_LIMITS = (260, 560)
# the right panel's tabs, by the names under which the chosen one is remembered
PANEL_PAGES = ("live", "inspector", "settings")
ZOOM_STEPS = (0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5)


@dataclass(frozen=True, slots=True)
class Pages:
    """What the window is put together from."""

    sidebar: Sidebar
    chat: QWidget
    meters: LiveMeters
    inspector: InspectorPage
    settings: SettingsPanel
    library: LatePage
    experiments: LatePage


class MainWindow(QMainWindow):
    """Everything the user sees."""

    closing = Signal()
    model_file_chosen = Signal(str)
    recent_model_chosen = Signal(str)
    reload_model_requested = Signal()
    unload_model_requested = Signal()
    load_cancel_requested = Signal()
    zoom_changed = Signal(float)
    notice_action = Signal()
    stop_requested = Signal()
    tint_requested = Signal()
    library_opened = Signal()
    experiments_opened = Signal()

    def __init__(self, pages: Pages, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Tokentide")
        self._pages = pages
        self._themes = themes
        self._folding = Folding()
        self._panel_width = PANEL_WIDTH
        self._sheet: ShortcutSheet | None = None
        self._top = TopBar(themes, self)
        self._notice = ActionBar(themes, self)
        self._notice.triggered.connect(self.notice_action)
        self._centre = QStackedWidget(self)
        self._panel = self._build_panel()
        self._splitter = self._build_splitter()
        self.setCentralWidget(self._splitter)
        self._model_menu = ModelMenu(self)
        self._top.pill.set_menu(self._model_menu)
        self._add_actions()
        self._connect()
        self.setMinimumSize(*MIN_SIZE)
        self.resize(self._first_size())
        self._on_theme()
        self._apply_folding()

    # ------------------------------------------------------------------ what it is told

    def set_model_state(self, state: ModelPillState) -> None:
        """Show which model answers, or how its load goes."""
        self._top.pill.set_state(state)
        self._model_menu.set_status(state.status)

    def set_recent_models(self, paths: Sequence[str]) -> None:
        """Models to offer in the menu, latest first."""
        self._model_menu.set_recent_models(paths)

    def set_models_folder(self, folder: str) -> None:
        """Where to look for models while none has been used."""
        self._model_menu.set_models_folder(folder)

    def choose_model(self) -> None:
        """Ask for a model file."""
        self._model_menu.choose_file()

    def show_notice(self, text: str, action_label: str | None = None) -> None:
        """Say one sentence under the top bar, with an action where there is one to take."""
        self._notice.show_text(text, action_label)

    def hide_notice(self) -> None:
        """Take the notice away."""
        self._notice.hide()

    def show_settings(self) -> None:
        """Open the settings page."""
        self._panel.show_page(self._pages.settings)
        self._show_panel(shown=True)
        self._pages.settings.focus_first()

    def show_inspector(self) -> None:
        """Open the inspector on the view that was shown last."""
        self._panel.show_page(self._pages.inspector)
        self._show_panel(shown=True)

    def show_answer(self) -> None:
        """Open the inspector on where an answer's time went."""
        self._pages.inspector.show_view("answer")
        self.show_inspector()

    def show_library(self) -> None:
        """Show the models in place of the chat."""
        self._centre.setCurrentWidget(self._pages.library)
        self.library_opened.emit()

    def show_experiments(self) -> None:
        """Show the experiments in place of the chat."""
        self._centre.setCurrentWidget(self._pages.experiments)
        self.experiments_opened.emit()
        self._pages.experiments.focus_first()

    def show_chat(self) -> None:
        """Show the chat again."""
        self._centre.setCurrentWidget(self._pages.chat)

    def save_layout(self) -> str:
        """Size, place and open panels, as text to keep."""
        geometry = base64.b64encode(self.saveGeometry().data()).decode("ascii")
        return json.dumps(
            {
                "geometry": geometry,
                "sidebar": self._folding.wants_sidebar,
                "panel": self._folding.wants_panel,
                "panel_width": self._panel_width,
                "page": PANEL_PAGES[self._panel.current_index],
            }
        )

    def restore_layout(self, saved: str) -> None:
        """Take up what ``save_layout`` gave; anything else is ignored."""
        try:
            layout = json.loads(saved)
            geometry = base64.b64decode(layout["geometry"], validate=True)
            width, tab = int(layout["panel_width"]), _tab_of(layout)
            sidebar, panel = bool(layout["sidebar"]), bool(layout["panel"])
        except (ValueError, KeyError, TypeError):
            return
        self.restoreGeometry(QByteArray(geometry))
        self._panel_width = min(max(width, PANEL_LIMITS[0]), PANEL_LIMITS[1])
        self._panel.show_index(tab)
        self._folding.set_wishes(sidebar=sidebar, panel=panel)
        self._apply_folding()

    # ------------------------------------------------------------------ building

    def _build_panel(self) -> SidePanel:
        panel = SidePanel(self._themes, self)
        panel.add_page(self._pages.meters, tr("Live"))
        panel.add_page(self._pages.inspector, tr("Inspector"))
        panel.add_page(self._pages.settings, tr("Settings"))
        return panel

    def _build_splitter(self) -> QSplitter:
        centre = QWidget(self)
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        line = QFrame(centre)
        set_look(line, "hairline")
        notice_space = QVBoxLayout()
        notice_space.setContentsMargins(16, 8, 16, 0)
        notice_space.addWidget(self._notice)
        column.addWidget(self._top)
        column.addWidget(line)
        column.addLayout(notice_space)
        for page in (self._pages.chat, self._pages.library, self._pages.experiments):
            self._centre.addWidget(page)
        column.addWidget(self._centre, 1)
        splitter = QSplitter(Qt.Orientation.Horizontal, self)
        splitter.setHandleWidth(1)
        splitter.setChildrenCollapsible(False)
        for widget in (self._pages.sidebar, centre, self._panel):
            splitter.addWidget(widget)
        splitter.setStretchFactor(1, 1)
        splitter.splitterMoved.connect(self._on_splitter)
        return splitter

    def _add_actions(self) -> None:
        pages = self._pages
        for shortcut, slot in (
            (actions.NEW_CHAT, pages.sidebar.new_chat_requested.emit),
            (actions.SEARCH, self._search),
            (actions.EXPORT, pages.sidebar.ask_export),
            (actions.IMPORT, pages.sidebar.files.ask_import),
            (actions.MODEL_MENU, self._top.pill.open_menu),
            (actions.LIBRARY, self._toggle_library),
            (actions.EXPERIMENTS, self._toggle_experiments),
            (actions.INSPECTOR, self._open_inspector),
            (actions.SETTINGS, self.show_settings),
            (actions.SIDEBAR, self._toggle_sidebar),
            (actions.PANEL, self._toggle_panel),
            (actions.ZOOM_IN, self._zoom_in),
            (actions.ZOOM_OUT, self._zoom_out),
            (actions.ZOOM_RESET, self._zoom_reset),
            (actions.TINT, self.tint_requested.emit),
            (actions.SHORTCUT_SHEET, self._show_sheet),
            (actions.QUIT, self.close),
        ):
            self.addAction(self._action(shortcut, slot))

    def _action(self, shortcut: actions.Shortcut, slot: Callable[[], object]) -> QAction:
        action = QAction(tr(shortcut.label), self)
        action.setObjectName(shortcut.name)
        action.setShortcuts([QKeySequence(keys) for keys in (shortcut.keys, *shortcut.also)])
        action.triggered.connect(slot)
        return action

    def _connect(self) -> None:
        self._top.sidebar_button.clicked.connect(self._toggle_sidebar)
        self._top.panel_button.clicked.connect(self._toggle_panel)
        for button, shortcut in (
            (self._top.sidebar_button, actions.SIDEBAR),
            (self._top.panel_button, actions.PANEL),
        ):
            button.setAccessibleName(tr(shortcut.label))
            button.setToolTip(f"{tr(shortcut.label)} ({key_words(shortcut.keys)})")
        menu = self._model_menu
        menu.library_requested.connect(self.show_library)
        menu.file_chosen.connect(self.model_file_chosen)
        menu.recent_chosen.connect(self.recent_model_chosen)
        menu.reload_requested.connect(self.reload_model_requested)
        menu.unload_requested.connect(self.unload_model_requested)
        menu.load_cancel_requested.connect(self.load_cancel_requested)
        self._pages.sidebar.settings_requested.connect(self.show_settings)
        self._pages.sidebar.library_requested.connect(self._toggle_library)
        self._pages.sidebar.experiments_requested.connect(self._toggle_experiments)
        for page in (self._pages.library, self._pages.experiments):
            page.closed.connect(self.show_chat)
        self._pages.sidebar.conversation_selected.connect(self._on_chosen)
        self._pages.sidebar.new_chat_requested.connect(self._on_chosen)
        self._themes.changed.connect(self._on_theme)

    def _first_size(self) -> QSize:
        """What suits the window, as far as the screen has it: no system cuts it by itself."""
        room = self.screen().availableSize() - QSize(*FRAME)
        return QSize(*FIRST_SIZE).boundedTo(room).expandedTo(self.minimumSize())

    # ------------------------------------------------------------------ panels

    def _toggle_sidebar(self) -> None:
        self._folding.show_sidebar(shown=not self._folding.shows_sidebar)
        self._apply_folding()

    def _toggle_panel(self) -> None:
        self._show_panel(shown=not self._folding.shows_panel)

    def _show_panel(self, *, shown: bool) -> None:
        self._folding.show_panel(shown=shown)
        self._apply_folding()

    def _open_inspector(self) -> None:
        self.show_inspector()
        self._pages.inspector.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _search(self) -> None:
        self._folding.show_sidebar(shown=True)
        self._apply_folding()
        self._pages.sidebar.focus_search()

    def _toggle_library(self) -> None:
        is_shown = self._centre.currentWidget() is self._pages.library
        (self.show_chat if is_shown else self.show_library)()

    def _toggle_experiments(self) -> None:
        is_shown = self._centre.currentWidget() is self._pages.experiments
        (self.show_chat if is_shown else self.show_experiments)()

    def _on_chosen(self, *_chosen: int) -> None:
        self.show_chat()
        # on a narrow window the list was opened to choose; then the chat is wanted
        if self._folding.width_class is WidthClass.NARROW and self._folding.shows_sidebar:
            self._toggle_sidebar()

    def _apply_folding(self) -> None:
        for part, shown in (
            (self._pages.sidebar, self._folding.shows_sidebar),
            (self._panel, self._folding.shows_panel),
        ):
            focused, page = QApplication.focusWidget(), self._centre.currentWidget()
            if not shown and focused and page and part.isAncestorOf(focused):
                # Qt would go to whatever comes next, as if Tab had been pressed
                page.setFocus(Qt.FocusReason.OtherFocusReason)
        self._pages.sidebar.setVisible(self._folding.shows_sidebar)
        self._panel.setVisible(self._folding.shows_panel)
        for button, shown in (
            (self._top.sidebar_button, self._folding.shows_sidebar),
            (self._top.panel_button, self._folding.shows_panel),
        ):
            with QSignalBlocker(button):
                button.setChecked(shown)
        self._share_width()

    def _share_width(self) -> None:
        sidebar = self._themes.px(SIDEBAR_WIDTH) if self._folding.shows_sidebar else 0
        panel = self._themes.px(self._panel_width) if self._folding.shows_panel else 0
        self._splitter.setSizes([sidebar, max(1, self.width() - sidebar - panel), panel])

    def _on_splitter(self) -> None:
        if self._folding.shows_panel:
            self._panel_width = round(self._panel.width() / self._themes.zoom)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._folding.resize(self.width() / self._themes.zoom):
            self._apply_folding()

    def _on_theme(self) -> None:
        self._pages.sidebar.setFixedWidth(self._themes.px(SIDEBAR_WIDTH))
        self._panel.setMinimumWidth(self._themes.px(PANEL_LIMITS[0]))
        self._panel.setMaximumWidth(self._themes.px(PANEL_LIMITS[1]))
        self._folding.resize(self.width() / self._themes.zoom)
        self._apply_folding()

    # ------------------------------------------------------------------ zoom, sheet, end

    def _zoom_in(self) -> None:
        larger = [step for step in ZOOM_STEPS if step > self._themes.zoom + 0.01]
        self.zoom_changed.emit(larger[0] if larger else MAX_ZOOM)

    def _zoom_out(self) -> None:
        smaller = [step for step in ZOOM_STEPS if step < self._themes.zoom - 0.01]
        self.zoom_changed.emit(smaller[-1] if smaller else MIN_ZOOM)

    def _zoom_reset(self) -> None:
        self.zoom_changed.emit(1.0)

    def _show_sheet(self) -> None:
        if self._sheet is None:
            self._sheet = ShortcutSheet(actions.SHEET, self)
        self._sheet.show()
        self._sheet.raise_()
        self._sheet.activateWindow()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        # what had no use for Esc itself, a button or the list, passes it on to here
        if event.key() == Qt.Key.Key_Escape:
            self.stop_requested.emit()
        else:
            super().keyPressEvent(event)

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        self.closing.emit()
        super().closeEvent(event)


def _tab_of(layout: dict[str, object]) -> int:
    """The tab that a kept layout names. Raises KeyError or ValueError."""
    if "page" not in layout:  # before the inspector came there were two, by number
        return PANEL_PAGES.index("settings") if layout["tab"] == 1 else 0
    return PANEL_PAGES.index(str(layout["page"]))
