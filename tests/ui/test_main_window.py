import json
import subprocess
import sys
import time

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QKeySequence, QScreen
from PySide6.QtWidgets import QFileDialog, QLabel, QLineEdit

from engine.api import LoadProgress, LoadStage
from tests.helpers.sample_engine import MODEL
from ui import actions
from ui.experiments.page import ExperimentsPage
from ui.inspector.page import InspectorPage
from ui.library.page import LibraryPage
from ui.main_window import MainWindow, Pages
from ui.meters.live import LiveMeters
from ui.settings.fields import Field, Section
from ui.settings.panel import SettingsPanel
from ui.sidebar.panel import Sidebar
from ui.sidebar.rows import ConversationRow
from ui.theme import LIGHT, ThemeSource
from ui.widgets.model_pill import ModelPillState

SECTIONS = (Section("Model", (Field("kv_cache", "bool", True, "KV cache", "Off is slow."),)),)


def pages_of(themes):
    return Pages(
        Sidebar(themes),
        QLabel("chat"),
        LiveMeters(themes),
        InspectorPage({"answer": QLabel("answer"), "tokens": QLabel("tokens")}),
        SettingsPanel(SECTIONS, themes),
        LibraryPage(themes),
        ExperimentsPage(themes),
    )


@pytest.fixture
def window(qtbot):
    themes = ThemeSource()
    pages = pages_of(themes)
    window = MainWindow(pages, themes)
    qtbot.addWidget(window)
    window.resize(1360, 860)
    window.show()
    return window


def heard(signal):
    calls = []
    signal.connect(lambda *args: calls.append(args))
    return calls


def press(window, shortcut):
    action = window.findChild(QAction, shortcut.name)
    assert QKeySequence(shortcut.keys) in action.shortcuts()
    action.trigger()


def sides(window):
    return window._pages.sidebar.isVisible(), window._panel.isVisible()


def test_importing_the_window_imports_no_torch():
    code = "import sys, ui.main_window; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("width", "expected"), [(1360, (True, True)), (880, (True, False)), (620, (False, False))]
)
def test_sides_fold_with_the_width(window, width, expected):
    window.resize(width, 700)
    assert sides(window) == expected


def test_keys_open_and_close_the_sides(window):
    press(window, actions.SIDEBAR)
    assert sides(window) == (False, True)
    press(window, actions.PANEL)
    assert sides(window) == (False, False)
    press(window, actions.PANEL)
    assert window._top.panel_button.isChecked()
    assert not window._top.sidebar_button.isChecked()


def test_the_buttons_do_the_same(window, qtbot):
    qtbot.mouseClick(window._top.sidebar_button, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(window._top.panel_button, Qt.MouseButton.LeftButton)
    assert sides(window) == (False, False)


def test_search_opens_the_list_on_a_narrow_window_and_a_choice_closes_it(window):
    window.resize(620, 700)
    press(window, actions.SEARCH)
    assert sides(window) == (True, False)
    assert window._pages.sidebar.findChild(QLineEdit, "searchChats").isVisible()
    window._pages.sidebar.set_conversations([ConversationRow(1, "a", time.time())])
    window._pages.sidebar._enter_list()
    assert sides(window) == (False, False)


def test_settings_open_from_the_list_and_by_key(window):
    press(window, actions.PANEL)
    press(window, actions.SETTINGS)
    assert sides(window) == (True, True)
    assert window._panel.current_index == 2
    assert window._pages.settings.isVisible()
    assert not window._pages.meters.isVisible()


def test_a_new_chat_by_key(window):
    asked = heard(window._pages.sidebar.new_chat_requested)
    press(window, actions.NEW_CHAT)
    assert asked == [()]


def test_zoom_asks_for_the_next_step(window):
    asked = heard(window.zoom_changed)
    press(window, actions.ZOOM_IN)
    press(window, actions.ZOOM_OUT)
    window._themes.set(LIGHT, 2.5)
    press(window, actions.ZOOM_IN)
    press(window, actions.ZOOM_RESET)
    assert asked == [(1.1,), (0.9,), (2.5,), (1.0,)]


def test_zoom_counts_against_the_width(window):
    window.resize(1200, 800)
    assert sides(window) == (True, True)
    window._themes.set(LIGHT, 1.5)
    assert sides(window) == (True, False)
    assert window._pages.sidebar.width() == 366


def menu_texts(window):
    window._model_menu.fill()
    return {action.text(): action for action in window._model_menu.actions() if action.text()}


def test_the_model_menu_offers_what_makes_sense(window):
    texts = menu_texts(window)
    assert not texts["Reload"].isEnabled()
    assert not texts["Unload"].isEnabled()
    assert "Cancel loading" not in texts
    window.set_model_state(ModelPillState.ready(MODEL))
    texts = menu_texts(window)
    reloads, unloads = heard(window.reload_model_requested), heard(window.unload_model_requested)
    texts["Reload"].trigger()
    texts["Unload"].trigger()
    assert (len(reloads), len(unloads)) == (1, 1)


def test_a_load_can_be_cancelled(window):
    progress = LoadProgress("/m/small.gguf", LoadStage.WEIGHTS, 1, 2)
    window.set_model_state(ModelPillState.loading(progress))
    cancels = heard(window.load_cancel_requested)
    menu_texts(window)["Cancel loading"].trigger()
    assert len(cancels) == 1


def test_recent_models_carry_their_path(window):
    window.set_recent_models(["/m/small.gguf", "/m/large.gguf"])
    chosen = heard(window.recent_model_chosen)
    menu_texts(window)["large.gguf"].trigger()
    assert chosen == [("/m/large.gguf",)]


def test_the_model_menu_opens_by_key(window):
    press(window, actions.MODEL_MENU)
    assert window._model_menu.isVisible()
    window._model_menu.close()


def test_notices(window, qtbot):
    asked = heard(window.notice_action)
    window.show_notice("The disk is full; nothing was lost.", "Try again")
    assert window._notice.isVisible()
    qtbot.mouseClick(window._notice.action_button, Qt.MouseButton.LeftButton)
    assert asked == [()]
    window.hide_notice()
    assert not window._notice.isVisible()


def test_the_layout_is_remembered(window, qtbot):
    window._show_panel(shown=False)
    window.show_settings()
    window._show_panel(shown=False)
    window.resize(760, 600)
    saved = window.save_layout()
    themes = ThemeSource()
    pages = pages_of(themes)
    other = MainWindow(pages, themes)
    qtbot.addWidget(other)
    other.restore_layout(saved)
    other.show()
    assert other.size() == window.size()
    assert sides(other) == (True, False)
    assert other._panel.current_index == 2


def test_a_layout_of_the_time_before_the_inspector_keeps_its_page(window):
    for tab, index in ((0, 0), (1, 2)):
        layout = json.loads(window.save_layout())
        del layout["page"]
        window.restore_layout(json.dumps({**layout, "tab": tab}))
        assert window._panel.current_index == index


def test_the_inspector_opens_by_key_on_the_view_shown_last(window, qtbot):
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    inspector = window._pages.inspector
    inspector.show_view("tokens")
    press(window, actions.PANEL)
    press(window, actions.INSPECTOR)
    assert sides(window) == (True, True)
    assert inspector.shown == "tokens"
    assert inspector.isAncestorOf(window.focusWidget())
    window.show_answer()
    assert inspector.shown == "answer"


@pytest.mark.parametrize(
    "saved",
    [
        "",
        "nonsense",
        "[]",
        "{}",
        json.dumps({"geometry": "!", "panel_width": 1, "tab": 0}),
        json.dumps({"geometry": "", "panel_width": 1, "page": "attic", "sidebar": 1, "panel": 1}),
    ],
)
def test_a_layout_that_cannot_be_read_is_ignored(window, saved):
    before = window.save_layout()
    window.restore_layout(saved)
    assert window.save_layout() == before


def test_the_shortcut_sheet_lists_every_key(window):
    press(window, actions.SHORTCUT_SHEET)
    texts = {label.text() for label in window._sheet.findChildren(QLabel)}
    assert {shortcut.label for shortcut in actions.SHEET} <= texts
    window._sheet.close()


def test_closing_is_announced_and_asks_nothing(window):
    closed = heard(window.closing)
    assert window.close()
    assert closed == [()]


def test_no_key_means_two_things():
    keys = [key for shortcut in actions.SHEET for key in (shortcut.keys, *shortcut.also)]
    assert len(keys) == len(set(keys))


def test_escape_stops_whatever_has_the_focus(window, qtbot):
    stopped = heard(window.stop_requested)
    for focus in (window._top.panel_button, window._top.pill, window._pages.settings):
        focus.setFocus()
        qtbot.keyClick(focus, Qt.Key.Key_Escape)
    assert len(stopped) == 3


def test_what_folds_away_hands_the_focus_to_the_page_and_to_nothing_by_chance(window, qtbot):
    window.show_settings()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    assert window._panel.isAncestorOf(window.focusWidget())
    reasons = []
    window._pages.chat.focusInEvent = lambda event: reasons.append(event.reason())
    window.resize(800, 700)
    qtbot.waitUntil(lambda: not window._panel.isVisible())
    assert window.focusWidget() is window._pages.chat
    assert Qt.FocusReason.TabFocusReason not in reasons


def test_models_are_looked_for_beside_the_last_one(window, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(
        QFileDialog,
        "getOpenFileName",
        lambda _parent, _title, folder, _filters: (asked.append(folder), ("", ""))[1],
    )
    window.set_models_folder("/models")
    window.choose_model()
    window.set_recent_models(["/gone/a.gguf", str(tmp_path / "b.gguf")])
    window.choose_model()
    assert asked == ["/models", str(tmp_path)]


def test_the_library_stands_in_place_of_the_chat(window):
    opened = heard(window.library_opened)
    library, chat = window.findChild(LibraryPage), window._pages.chat
    press(window, actions.LIBRARY)
    assert library.isVisible()
    assert not chat.isVisible()
    press(window, actions.LIBRARY)
    assert chat.isVisible()
    window._pages.sidebar.library_requested.emit()
    assert library.isVisible()
    window._pages.sidebar.conversation_selected.emit(1)
    assert chat.isVisible()
    window.show_library()
    library.closed.emit()
    assert chat.isVisible()
    assert len(opened) == 3


@pytest.mark.parametrize(
    ("screen", "expected"),
    [
        (QSize(2560, 1440), QSize(1360, 860)),
        (QSize(1366, 728), QSize(1350, 680)),  # a small laptop: the composer must be on the screen
        (QSize(680, 430), QSize(664, 420)),  # at 200% of scale
    ],
)
def test_the_first_window_is_no_larger_than_the_screen(qtbot, monkeypatch, screen, expected):
    monkeypatch.setattr(QScreen, "availableSize", lambda _screen: screen)
    themes = ThemeSource()
    window = MainWindow(pages_of(themes), themes)
    qtbot.addWidget(window)
    assert window.size() == expected
