import pytest

from engine.api import Fit
from ui.settings.precision_lines import MeasuringState, PrecisionLine
from ui.settings.precision_panel import PrecisionPanel
from ui.theme import ThemeSource

LINE = PrecisionLine("int8", "INT8", 1 << 30, Fit.FITS)


@pytest.fixture
def panel(qtbot):
    panel = PrecisionPanel(ThemeSource())
    qtbot.addWidget(panel)
    return panel


def test_it_says_when_somebody_looks(panel):
    seen = []
    panel.shown.connect(lambda: seen.append("shown"))
    panel.hidden.connect(lambda: seen.append("hidden"))
    panel.show()
    panel.hide()
    assert seen == ["shown", "hidden"]


def test_without_lines_there_is_no_table(panel):
    panel.show()
    assert panel.table.isHidden()
    panel.set_lines([LINE], "int8")
    assert not panel.table.isHidden()
    panel.set_lines([], "")
    assert panel.table.isHidden()


def test_a_note_and_the_wishes_are_passed_on(panel):
    wishes = []
    panel.chosen.connect(wishes.append)
    panel.measure_requested.connect(lambda: wishes.append("measure"))
    panel.cancel_requested.connect(lambda: wishes.append("cancel"))
    panel.set_note("It cannot be read.")
    assert panel._note.text() == "It cannot be read."
    panel.set_note("")
    assert panel._note.isHidden()
    panel.set_lines([LINE], "")
    panel.table.rows[0].click()
    panel.set_measuring(MeasuringState(seconds=1.0))
    panel.bar.button.click()
    panel.set_measuring(MeasuringState(name="INT8", number=1, count=1))
    panel.bar.cancel_button.click()
    assert wishes == ["int8", "measure", "cancel"]
