import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from engine.api import Fit
from tests.helpers.sample_engine import MODEL
from ui.settings.fields import Choice, Field, Section
from ui.settings.forecast import Forecast
from ui.settings.model_sheet import facts
from ui.settings.panel import SettingsPanel
from ui.settings.row import explanation
from ui.theme import ThemeSource
from ui.widgets.tab_order import stops_in

MODEL_PATH = Field(
    "model_path", "model_path", None, "Model", "A file.", automatic="Starter", applies="reload"
)
WEIGHTS = Field(
    "weights", "choice", "auto", "Weights", "How exact.", choices=(Choice("auto", "Automatic"),)
)
TEMPERATURE = Field(
    "temperature", "float", 0.7, "Temperature", "How varied.", minimum=0, maximum=2, step=0.05
)
CACHE = Field("kv_cache", "bool", default=True, label="KV cache", help="", applies="reload")
SECTIONS = (
    Section("Model", (MODEL_PATH, WEIGHTS, CACHE)),
    Section("Sampling", (TEMPERATURE,)),
)


@pytest.fixture
def panel(qtbot):
    panel = SettingsPanel(SECTIONS, ThemeSource())
    for _step in panel.steps():
        pass
    qtbot.addWidget(panel)
    panel.resize(300, 800)
    panel.show()
    return panel


def heard(signal):
    calls = []
    signal.connect(lambda *args: calls.append(args))
    return calls


def test_showing_values_changes_nothing(panel):
    changes = heard(panel.changed)
    panel.set_values({"temperature": 1.5, "kv_cache": False, "unknown": 3})
    assert changes == []
    assert panel.row("temperature").editor.input_widget().value() == 1.5


def test_a_change_carries_its_key(panel):
    panel.set_value("temperature", 0.7)
    changes = heard(panel.changed)
    panel.row("temperature").editor.input_widget().setValue(1.0)
    panel.row("kv_cache").editor.input_widget().click()
    assert changes == [("temperature", 1.0), ("kv_cache", True)]


def test_invalid_input_is_told_beside_the_field(panel):
    changes = heard(panel.changed)
    row = panel.row("temperature")
    row.editor.input_widget().setValue(3.0)
    assert changes == []
    assert row.problem == "Not taken: choose a number from 0 to 2."
    assert row._problem.isVisible()
    assert row.editor.input_widget().property("invalid")
    panel.set_value("temperature", 0.7)
    assert not row._problem.isVisible()


def test_choosing_a_model_file(panel):
    chosen, changes = heard(panel.model_file_chosen), heard(panel.changed)
    editor = panel.row("model_path").editor
    assert editor._shown.text() == "Starter"
    editor.take("")
    editor.take("/models/other.gguf")
    editor.take("/models/other.gguf")
    assert chosen == [("/models/other.gguf",)]
    assert changes == []
    assert editor._shown.text() == "other.gguf"
    assert editor._shown.toolTip() == "/models/other.gguf"


def test_the_reload_bar(panel, qtbot):
    asked = heard(panel.reload_requested)
    assert not panel._reload_bar.isVisible()
    panel.set_reload_needed(True)
    assert panel._reload_bar.text == "Takes effect when the model is loaded again."
    qtbot.mouseClick(panel._reload_bar.action_button, Qt.MouseButton.LeftButton)
    assert asked == [()]
    panel.set_reload_needed(False)
    assert not panel._reload_bar.isVisible()


def test_the_forecast_goes_with_the_reload_bar(panel):
    panel.set_reload_needed(True)
    panel.set_forecast(Forecast(Fit.TOO_LARGE, "Too large."))
    assert panel._forecast.text == "Too large."
    panel.set_reload_needed(False)
    assert panel._forecast.text == ""


def test_a_setting_can_be_hidden_and_have_more_below_it(panel):
    panel.set_row_shown("kv_cache", shown=False)
    panel.set_row_shown("unknown", shown=False)
    assert panel.row("kv_cache").isHidden()
    more = QLabel("more")
    panel.place_below("weights", more)
    assert panel._column.indexOf(more) == panel._column.indexOf(panel.row("weights")) + 1


def test_reset(panel, qtbot):
    asked = heard(panel.reset_requested)
    buttons = panel.findChildren(QPushButton)
    reset = next(button for button in buttons if button.text() == "Reset to defaults")
    qtbot.mouseClick(reset, Qt.MouseButton.LeftButton)
    assert asked == [()]


def test_explanations_carry_range_and_unit():
    assert explanation(TEMPERATURE) == "How varied. 0 to 2."
    assert explanation(CACHE) == "Needs a reload."
    limited = Field("n", "int", 1, "N", "Many.", unit="tokens", minimum=1, maximum=4096)
    assert explanation(limited) == "Many. 1 to 4,096 tokens."


def test_the_model_sheet(panel):
    assert not panel._sheet.isVisible()
    panel.set_model_info(MODEL)
    texts = [label.text() for label in panel._sheet.findChildren(QLabel)]
    assert "49,152 tokens of 576 values" in texts
    assert "30 layers, 9 heads, 3 KV heads" in texts
    panel.set_model_info(None)
    assert not panel._sheet.isVisible()


def test_facts_without_a_value_are_left_out():
    named = dict(facts(MODEL))
    assert named["Weights"] == "92 MiB"
    assert named["KV cache"] == "22.5 KiB a token"
    assert named["Runs on"] == "Test CPU, 2 threads"
    assert named["Kernels"] == "INT4: packed\nhead: INT8"
    assert all(named.values())


# ---------------------------------------------------------------------- a page that comes late


@pytest.fixture
def empty(qtbot):
    empty = SettingsPanel(SECTIONS, ThemeSource())
    qtbot.addWidget(empty)
    empty.resize(300, 800)
    return empty


def make(panel):
    for _step in panel.steps():
        pass


def test_what_an_empty_page_is_told_is_shown_by_its_rows(qtbot, empty):
    changes = heard(empty.changed)
    below = QPushButton("below")
    empty.set_values({"temperature": 1.5, "kv_cache": False, "unknown": 3})
    empty.set_problem("temperature", "too warm")
    empty.set_row_shown("kv_cache", shown=False)
    empty.set_model_info(MODEL)
    empty.place_below("weights", below)
    empty.show()
    assert not below.isVisible()
    make(empty)
    qtbot.waitUntil(lambda: empty.row("temperature").isVisible())
    assert changes == []
    assert empty.row("temperature").editor.input_widget().value() == 1.5
    assert empty.row("temperature").problem == "too warm"
    assert empty.row("kv_cache").isHidden()
    assert not empty._sheet.isHidden()
    assert below.isVisible()
    assert empty._column.indexOf(below) == empty._column.indexOf(empty.row("weights")) + 1


def test_a_suggestion_waits_for_its_row(qtbot):
    threads = Field(
        "threads", "int", None, "Threads", "", minimum=1, maximum=64, automatic="Automatic"
    )
    panel = SettingsPanel((Section("Model", (threads,)),), ThemeSource())
    qtbot.addWidget(panel)
    panel.set_value("threads", None)
    panel.suggest({"threads": 6, "unknown": 1})
    make(panel)
    panel.row("threads").editor._automatic.click()
    assert panel.row("threads").editor.input_widget().value() == 6


def test_a_draft_is_told_of_before_there_is_a_row(qtbot):
    checked = Field("schema", "multiline", "", "Schema", "", is_checked=True)
    panel = SettingsPanel((Section("Answers", (checked,)),), ThemeSource())
    qtbot.addWidget(panel)
    drafts = heard(panel.drafted)
    panel.set_value("schema", "{}")
    assert drafts == [("schema", "{}")]
    make(panel)
    assert drafts == [("schema", "{}")]


def test_an_empty_page_asks_for_its_rows_whenever_it_is_looked_at(empty):
    wanted = heard(empty.wanted)
    empty.show()
    empty.hide()
    empty.show()
    assert wanted == [("settings",), ("settings",)]
    make(empty)
    empty.hide()
    empty.show()
    assert len(wanted) == 2


def test_an_empty_page_holds_the_keyboard_and_speaks_for_its_rows(qtbot, empty):
    empty.show()
    empty.activateWindow()
    qtbot.waitUntil(empty.isActiveWindow)
    empty.focus_first()
    assert empty.hasFocus()
    assert empty.accessibleName() == "Settings"
    assert "being made" in empty.accessibleDescription()
    make(empty)
    assert empty.row("model_path").editor.input_widget().hasFocus()
    assert empty.focusPolicy() is Qt.FocusPolicy.NoFocus
    assert empty.accessibleName() == empty.accessibleDescription() == ""


def test_the_tab_key_goes_down_the_page_though_it_came_late(qtbot, empty):
    around = QWidget()
    qtbot.addWidget(around)
    column = QVBoxLayout(around)
    behind = QPushButton("behind")
    below = QPushButton("below")
    empty.place_below("weights", below)
    for widget in (QPushButton("before"), empty, behind):
        column.addWidget(widget)
    make(empty)
    read = [
        *(empty.row(key).editor.input_widget() for key in ("model_path", "weights")),
        below,
        *(empty.row(key).editor.input_widget() for key in ("kv_cache", "temperature")),
        behind,
    ]
    assert [stop for stop in stops_in(around) if stop in read] == read
    empty.setParent(None)  # it goes later than what is around it
