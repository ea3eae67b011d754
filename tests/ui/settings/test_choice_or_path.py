import pytest

from ui.settings.choice_or_path import ChoiceOrPathEditor
from ui.settings.fields import Choice, Field

FIELD = Field(
    "draft", "choice_or_path", "off", "Guess ahead", "Faster.",
    choices=(Choice("off", "Off"), Choice("ngram", "N-grams")), path_label="A small model…",
)  # fmt: skip


@pytest.fixture
def editor(qtbot):
    editor = ChoiceOrPathEditor(FIELD)
    qtbot.addWidget(editor)
    return editor


def entries(editor):
    box = editor.input_widget()
    return [box.itemText(row) for row in range(box.count())], box.currentText()


def test_choices_and_the_way_to_a_file(editor):
    assert entries(editor) == (["Off", "N-grams", "A small model…"], "Off")


def test_a_choice_is_emitted_once(qtbot, editor):
    with qtbot.waitSignal(editor.value_changed) as chosen:
        editor.input_widget().activated.emit(1)
    assert chosen.args == ["ngram"]
    with qtbot.assertNotEmitted(editor.value_changed):
        editor.input_widget().activated.emit(1)


def test_a_file_stands_among_the_entries(qtbot, editor):
    with qtbot.waitSignal(editor.value_changed) as chosen:
        editor.take("/models/tiny.gguf")
    assert chosen.args == ["/models/tiny.gguf"]
    assert entries(editor) == (["Off", "N-grams", "tiny.gguf", "A small model…"], "tiny.gguf")
    editor.set_value("off")
    assert entries(editor) == (["Off", "N-grams", "A small model…"], "Off")


def test_a_cancelled_dialog_leaves_the_value(qtbot, editor, monkeypatch):
    monkeypatch.setattr(
        "ui.settings.choice_or_path.QFileDialog.getOpenFileName", lambda *_args: ("", "")
    )
    editor.set_value("ngram")
    with qtbot.assertNotEmitted(editor.value_changed):
        editor.input_widget().setCurrentIndex(2)
        editor.input_widget().activated.emit(2)
    assert entries(editor)[1] == "N-grams"
