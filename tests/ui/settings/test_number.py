import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QSlider

from ui.settings.fields import Field
from ui.settings.number import (
    SLIDER_STEPS,
    NumberBox,
    NumberEditor,
    Scale,
    number_text,
    range_problem,
)

TEMPERATURE = Field(
    "temperature", "float", 0.7, "Temperature", "How varied.", minimum=0, maximum=2, step=0.05
)
CONTEXT = Field(
    "context",
    "int",
    None,
    "Context",
    "How much.",
    unit="tokens",
    minimum=256,
    maximum=1_048_576,
    step=256,
    automatic="Automatic",
)
SEED = Field("seed", "int", None, "Seed", "Luck.", minimum=0, automatic="Random")


def shown(qtbot, field, value):
    editor = NumberEditor(field)
    qtbot.addWidget(editor)
    editor.set_value(value)
    editor.show()
    return editor


def heard(signal):
    calls = []
    signal.connect(calls.append)
    return calls


def type_number(qtbot, editor, text):
    box = editor.input_widget()
    box.selectAll()
    qtbot.keyClicks(box, text)
    qtbot.keyClick(box, Qt.Key.Key_Return)


def test_showing_a_value_emits_nothing(qtbot):
    editor = NumberEditor(TEMPERATURE)
    qtbot.addWidget(editor)
    values = heard(editor.value_changed)
    editor.set_value(0.7)
    assert values == []
    assert editor.input_widget().value() == 0.7
    assert editor._slider.value() == 70


def test_box_and_slider_say_the_same(qtbot):
    editor = shown(qtbot, TEMPERATURE, 0.7)
    values = heard(editor.value_changed)
    editor._slider.setValue(SLIDER_STEPS // 2)
    assert values == [1.0]
    editor.input_widget().setValue(2.0)
    assert editor._slider.value() == SLIDER_STEPS
    assert values == [1.0, 2.0]


def test_a_number_out_of_range_is_told_and_not_emitted(qtbot):
    editor = shown(qtbot, TEMPERATURE, 0.7)
    values, problems = heard(editor.value_changed), heard(editor.problem_changed)
    type_number(qtbot, editor, "7")
    assert values == []
    assert problems[-1] == "Not taken: choose a number from 0 to 2."
    type_number(qtbot, editor, "1.5")
    assert values[-1] == 1.5
    assert problems[-1] == ""


def test_half_a_number_is_not_emitted(qtbot):
    editor = shown(qtbot, TEMPERATURE, 0.7)
    values, problems = heard(editor.value_changed), heard(editor.problem_changed)
    editor.input_widget().selectAll()
    qtbot.keyClicks(editor.input_widget(), "12")
    assert (values, problems) == ([], [])


def test_steps_stop_at_the_ends(qtbot):
    editor = shown(qtbot, TEMPERATURE, 1.98)
    editor.input_widget().stepBy(1)
    assert editor.input_widget().value() == 2.0
    editor.input_widget().setValue(9)
    editor.input_widget().stepBy(-1)
    assert editor.input_widget().value() == 2.0


def test_automatic_is_none(qtbot):
    editor = shown(qtbot, CONTEXT, None)
    assert editor._automatic.isChecked()
    assert not editor.input_widget().isVisible()
    values = heard(editor.value_changed)
    editor._automatic.click()
    assert editor.input_widget().isVisible()
    assert len(values) == 1
    assert 256 <= values[0] <= 1_048_576
    assert isinstance(values[0], int)
    editor._automatic.click()
    assert values[-1] is None


def test_without_a_whole_range_there_is_no_slider(qtbot):
    editor = shown(qtbot, SEED, 3)
    assert editor._slider is None
    assert editor.input_widget().value() == 3
    assert range_problem(SEED, -1) == "Not taken: at least 0."


def test_a_passing_wheel_changes_nothing(qtbot):
    editor = shown(qtbot, TEMPERATURE, 0.7)
    values = heard(editor.value_changed)
    for widget in (editor.input_widget(), editor._slider):
        wheel = QWheelEvent(
            QPointF(5, 5),
            QPointF(5, 5),
            QPoint(0, 0),
            QPoint(0, 120),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(widget, wheel)
        assert not wheel.isAccepted()
    assert values == []


@pytest.mark.parametrize("field", [TEMPERATURE, CONTEXT])
def test_scales_are_exact_at_the_ends_and_go_up(field):
    scale = Scale(field, field.minimum, field.maximum)
    values = [scale.value(position) for position in range(SLIDER_STEPS + 1)]
    assert values[0] == field.minimum
    assert values[-1] == field.maximum
    assert values == sorted(values)
    assert scale.position(field.minimum) == 0
    assert scale.position(field.maximum * 2) == SLIDER_STEPS


def test_wide_ranges_are_logarithmic():
    scale = Scale(CONTEXT, 256, 1_048_576)
    assert scale.value(SLIDER_STEPS // 2) == pytest.approx(16_384, abs=256)
    assert all(scale.value(position) % 256 == 0 for position in range(SLIDER_STEPS))


def test_numbers_are_written_as_people_write_them():
    assert number_text(CONTEXT, 1_048_576) == "1,048,576"
    assert number_text(TEMPERATURE, 0.05) == "0.05"
    assert number_text(TEMPERATURE, 2.0) == "2"


def test_switching_automatic_off_begins_at_what_it_stood_for(qtbot):
    editor = shown(qtbot, CONTEXT, None)
    values = heard(editor.value_changed)
    editor.suggest(8_192)
    assert values == []
    editor._automatic.click()
    assert values == [8_192]
    editor.suggest(2_048)
    assert editor.input_widget().value() == 8_192


def test_a_number_that_names_something_is_typed(qtbot):
    field = Field("port", "int", 8417, "Port", "Where.", minimum=1024, maximum=65535, is_name=True)
    editor = NumberEditor(field)
    qtbot.addWidget(editor)
    editor.set_value(8417)
    assert editor.findChild(QSlider) is None
    assert editor.findChild(NumberBox).text() == "8417"
    assert range_problem(field, 80).endswith("1024 to 65535.")
