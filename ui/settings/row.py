"""One setting as a row: label with unit, control, problem, range and explanation.

Built from a ``Field`` alone.
"""

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from ui.i18n import tr
from ui.settings.choice_or_path import ChoiceOrPathEditor
from ui.settings.editors import (
    ChoiceEditor,
    Editor,
    MultilineEditor,
    SwitchEditor,
    TextEditor,
)
from ui.settings.fields import Field, FieldKind, SettingValue
from ui.settings.model_path import ModelPathEditor
from ui.settings.number import NumberEditor, number_text
from ui.theme import set_look

_EDITORS: Mapping[FieldKind, type[Editor]] = {
    "choice": ChoiceEditor,
    "choice_or_path": ChoiceOrPathEditor,
    "int": NumberEditor,
    "float": NumberEditor,
    "bool": SwitchEditor,
    "multiline": MultilineEditor,
    "model_path": ModelPathEditor,
    "text": TextEditor,
}


def editor_for(field: Field, parent: QWidget) -> Editor:
    """The control of a field's kind."""
    return _EDITORS[field.kind](field, parent)


def explanation(field: Field) -> str:
    """The help text, with the range where there is one."""
    parts = [tr(field.help)] if field.help else []
    low, high = field.minimum, field.maximum
    if low is not None and high is not None:
        span = tr("{low} to {high}", low=number_text(field, low), high=number_text(field, high))
        parts.append(f"{span} {tr(field.unit)}".strip() + tr("."))
    if field.applies == "reload":
        parts.append(tr("Needs a reload."))
    return tr(" ").join(parts)


class FieldRow(QWidget):
    """A field's row. ``changed(key, value)`` for every valid change; ``file_chosen`` of a model."""

    changed = Signal(str, object)
    file_chosen = Signal(str)

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = field
        self.editor = editor_for(field, self)
        self.editor.value_changed.connect(self._on_value)
        self.editor.problem_changed.connect(self._on_problem)
        if isinstance(self.editor, ModelPathEditor):
            self.editor.file_chosen.connect(self.file_chosen)
        self._problem = self._label("danger-small")
        self._problem.hide()
        self._help = self._label("small")
        self._help.setText(explanation(field))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        if field.kind != "bool":
            layout.addLayout(self._heading())
        for widget in (self.editor, self._problem, self._help):
            layout.addWidget(widget)

    @property
    def problem(self) -> str:
        """What is wrong with the input, in words; empty when nothing is."""
        return self._problem.text()

    def set_value(self, value: SettingValue) -> None:
        """Show a value without emitting it."""
        self.editor.set_value(value)

    def suggest(self, number: float) -> None:
        """What "Automatic" stands for at present; only numbers have use for it."""
        if isinstance(self.editor, NumberEditor):
            self.editor.suggest(number)

    def show_problem(self, problem: str) -> None:
        """Say what is wrong with the value, found by who knows more of it; empty: nothing is."""
        self._on_problem(problem)

    def _heading(self) -> QHBoxLayout:
        label = QLabel(tr(self.field.label), self)
        label.setBuddy(self.editor.input_widget())
        row = QHBoxLayout()
        row.addWidget(label, 1)
        return row

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        set_look(label, look)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    def _on_value(self, value: SettingValue) -> None:
        self.changed.emit(self.field.key, value)

    def _on_problem(self, problem: str) -> None:
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        self.editor.input_widget().setProperty("invalid", bool(problem))
        style = self.editor.input_widget().style()
        style.unpolish(self.editor.input_widget())
        style.polish(self.editor.input_widget())
