"""One of the declared choices, or a model file in their place."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QFileDialog, QWidget
from typing_extensions import override

from ui.i18n import tr
from ui.settings.editors import Editor
from ui.settings.fields import Field, SettingValue
from ui.widgets.calm_box import CalmComboBox


class ChoiceOrPathEditor(Editor):
    """A choice whose last entry asks for a file; the file then stands among the entries."""

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(field, parent)
        self._value: SettingValue = field.default
        self._box = CalmComboBox(self)
        self._box.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self._box.setMinimumContentsLength(8)
        self._box.activated.connect(self._on_activated)
        self._row.addWidget(self._box, 1)
        self._name(self._box)
        self.set_value(field.default)

    @override
    def input_widget(self) -> QWidget:
        return self._box

    @override
    def set_value(self, value: SettingValue) -> None:
        self._value = value
        self._box.clear()
        for choice in self._field.choices:
            self._box.addItem(tr(choice.label), choice.value)
        if value not in {choice.value for choice in self._field.choices}:
            self._box.addItem(Path(str(value)).name, value)
            last = self._box.count() - 1
            self._box.setItemData(last, str(value), Qt.ItemDataRole.ToolTipRole)
        self._box.setCurrentIndex(self._box.findData(value))
        self._box.addItem(tr(self._field.path_label))

    def take(self, path: str) -> None:
        """A file was picked; an empty path is a cancelled dialog."""
        if path and path != self._value:
            self.set_value(path)
            self.value_changed.emit(path)
        else:
            self.set_value(self._value)

    def _on_activated(self, row: int) -> None:
        if row == self._box.count() - 1:
            self._ask()
        elif (value := self._box.itemData(row)) != self._value:
            self.set_value(value)
            self.value_changed.emit(value)

    def _ask(self) -> None:
        path, _filter = QFileDialog.getOpenFileName(
            self,
            tr("Choose a small model with the same vocabulary"),
            "",
            tr("Models (*.gguf);;All files (*)"),
        )
        self.take(path)
