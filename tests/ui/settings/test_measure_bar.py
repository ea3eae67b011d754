import pytest
from PySide6.QtCore import Qt

from ui.settings.measure_bar import MeasureBar
from ui.settings.precision_lines import MeasuringState


@pytest.fixture
def bar(qtbot):
    bar = MeasureBar()
    qtbot.addWidget(bar)
    return bar


def test_hidden_while_there_is_nothing_to_measure(bar):
    assert bar.isHidden()
    bar.set_state(MeasuringState(seconds=200.0))
    assert not bar.isHidden()


def test_the_offer_tells_its_time(bar, qtbot):
    asked = []
    bar.measure_requested.connect(lambda: asked.append("measure"))
    bar.set_state(MeasuringState(seconds=200.0))
    assert bar.button.text() == "Measure the loss"
    assert bar.texts == ["~3 min"]
    qtbot.mouseClick(bar.button, Qt.MouseButton.LeftButton)
    assert asked == ["measure"]
    bar.set_state(MeasuringState(seconds=200.0, is_again=True))
    assert bar.button.text() == "Measure again"


def test_a_run_shows_how_far_it_is_and_can_be_cancelled(bar, qtbot):
    asked = []
    bar.cancel_requested.connect(lambda: asked.append("cancel"))
    bar.set_state(MeasuringState(name="INT8", number=2, count=3, part=0.345))
    assert bar.texts == ["Measuring INT8, 2 of 3: 34%"]
    assert bar.button.isHidden()
    assert bar._bar.value() == 345
    qtbot.mouseClick(bar.cancel_button, Qt.MouseButton.LeftButton)
    assert asked == ["cancel"]
    bar.set_state(MeasuringState(name="INT8", number=1, count=1))
    assert bar.texts == ["Measuring INT8: 0%"]


def test_what_went_wrong_is_said(bar):
    bar.set_state(MeasuringState(problem="INT8 could not be measured."))
    assert bar.texts == ["INT8 could not be measured."]
    assert not bar.isHidden()


def test_the_focus_stays_where_the_hand_is(bar, qtbot):
    bar.set_state(MeasuringState(seconds=9.0))
    bar.show()
    bar.activateWindow()
    bar.button.setFocus()
    qtbot.waitUntil(bar.button.hasFocus)
    bar.set_state(MeasuringState(name="INT8", number=1, count=1))
    assert bar.cancel_button.hasFocus()
    bar.set_state(MeasuringState(seconds=9.0))
    assert bar.button.hasFocus()
