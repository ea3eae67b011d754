import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit

from ui.settings.editors import ChoiceEditor, MultilineEditor, SwitchEditor, TextEditor
from ui.settings.fields import Choice, Field

WEIGHTS = Field(
    "weights",
    "choice",
    "auto",
    "Weights",
    "How exact.",
    choices=(Choice("auto", "Automatic"), Choice("int4", "INT4")),
)
DEVICE = Field("device", "choice", None, "D", "", choices=(Choice("cpu", "CPU"),), automatic="Any")
CACHE = Field("kv_cache", "bool", default=True, label="KV cache", help="Off is slow.")
STOP = Field("stop", "text", None, "Stop", "Ends here.", automatic="None")
NAME = Field("name", "text", "x", "Name", "Yours.")
PROMPT = Field("prompt", "multiline", "", "System prompt", "Said first.")


def make(qtbot, kind, field, value):
    editor = kind(field)
    qtbot.addWidget(editor)
    editor.set_value(value)
    calls = []
    editor.value_changed.connect(calls.append)
    return editor, calls


def test_choices(qtbot):
    editor, values = make(qtbot, ChoiceEditor, WEIGHTS, "int4")
    box = editor.input_widget()
    assert box.currentText() == "INT4"
    assert values == []
    box.setCurrentIndex(0)
    box.activated.emit(0)
    assert values == ["auto"]
    editor.set_value("a value from elsewhere")
    assert box.currentIndex() == -1


def test_a_choice_may_be_automatic(qtbot):
    editor, values = make(qtbot, ChoiceEditor, DEVICE, None)
    assert editor.input_widget().currentText() == "Any"
    editor.input_widget().activated.emit(0)
    assert values == [None]


def test_switches(qtbot):
    editor, values = make(qtbot, SwitchEditor, CACHE, True)
    assert editor.input_widget().isChecked()
    editor.input_widget().click()
    assert values == [False]
    words = editor.findChild(QLabel)
    qtbot.mouseClick(words, Qt.MouseButton.LeftButton)  # the words are a part of the box
    assert values == [False, True]
    assert words.wordWrap()
    assert editor.input_widget().accessibleName() == words.text()


@pytest.mark.parametrize(("field", "empty"), [(STOP, None), (NAME, "")])
def test_a_line_is_taken_when_it_is_done(qtbot, field, empty):
    editor, values = make(qtbot, TextEditor, field, "x")
    line = editor.input_widget()
    assert isinstance(line, QLineEdit)
    line.clear()
    qtbot.keyClicks(line, "yes")
    assert values == []
    qtbot.keyClick(line, Qt.Key.Key_Return)
    assert values == ["yes"]
    line.editingFinished.emit()
    assert values == ["yes"]
    line.clear()
    editor.finish()
    assert values == ["yes", empty]


def test_a_text_is_taken_after_a_pause(qtbot):
    editor, values = make(qtbot, MultilineEditor, PROMPT, "Be brief.")
    text = editor.input_widget()
    assert not editor._pause.isActive()
    text.setPlainText("Be kind.")
    assert values == []
    assert editor._pause.isActive()
    editor._pause.timeout.emit()
    assert values == ["Be kind."]
    assert not editor._pause.isActive()


def test_a_text_is_taken_when_it_is_left(qtbot):
    editor, values = make(qtbot, MultilineEditor, PROMPT, "")
    text = editor.input_widget()
    text.setPlainText("Be kind.")
    text.left.emit()
    assert values == ["Be kind."]


def test_the_same_text_from_outside_does_not_move_the_caret(qtbot):
    editor, _values = make(qtbot, MultilineEditor, PROMPT, "Be kind.")
    cursor = editor.input_widget().textCursor()
    cursor.setPosition(3)
    editor.input_widget().setTextCursor(cursor)
    editor.set_value("Be kind.")
    assert editor.input_widget().textCursor().position() == 3


def test_controls_have_names_for_screen_readers(qtbot):
    editor, _values = make(qtbot, ChoiceEditor, WEIGHTS, "auto")
    assert editor.input_widget().accessibleName() == "Weights"
    assert editor.input_widget().accessibleDescription() == "How exact."
    assert QApplication.focusWidget() is not editor
