"""The settings page, built from declarations alone.

Shows values it is given and emits valid changes; it stores nothing and knows no single setting.
Where only somebody else can tell what is valid, it emits a draft, and the change once it is accepted.
What belongs to one setting and is more than a field is put below it by whoever knows it.
"""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from engine.api import ModelInfo
from ui.i18n import tr
from ui.settings.fields import Field, Section, SettingValue
from ui.settings.forecast import Forecast, ForecastLine
from ui.settings.model_path import ModelPathEditor
from ui.settings.model_sheet import ModelSheet
from ui.settings.number import NumberEditor
from ui.settings.row import FieldRow
from ui.theme import ThemeSource, set_look
from ui.widgets.action_bar import ActionBar

MARGIN = 18
BETWEEN_ROWS = 18


class SettingsPanel(QWidget):
    """All sections under each other, a reload bar above, the model's facts below."""

    changed = Signal(str, object)
    drafted = Signal(str, object)
    reload_requested = Signal()
    model_file_chosen = Signal(str)
    reset_requested = Signal()

    def __init__(
        self, sections: Sequence[Section], themes: ThemeSource, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("settingsPanel")
        self._rows: dict[str, FieldRow] = {}
        self._sheet = ModelSheet(self)
        self._reload_bar = ActionBar(themes, self, closable=False)
        self._reload_bar.triggered.connect(self.reload_requested)
        bar_space = QVBoxLayout()
        bar_space.setContentsMargins(MARGIN, 8, MARGIN, 0)
        bar_space.setSpacing(8)
        bar_space.addWidget(self._reload_bar)
        self._forecast = ForecastLine(themes, self)
        bar_space.addWidget(self._forecast)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(bar_space)
        layout.addWidget(self._scroll_area(self._page(sections)), 1)

    # ------------------------------------------------------------------ what it is told

    def set_values(self, values: Mapping[str, SettingValue]) -> None:
        """Show these values; keys that no field declares are ignored."""
        for key, value in values.items():
            self.set_value(key, value)

    def set_value(self, key: str, value: SettingValue) -> None:
        """Show one value, without emitting a change; where there was a draft it is the new one."""
        if (row := self._rows.get(key)) is not None:
            row.set_value(value)
            if row.field.is_checked:
                self.drafted.emit(key, value)

    def set_reload_needed(self, needed: bool) -> None:  # noqa: FBT001  one plain state
        """Say that changes wait for the model to be loaded again, or no longer."""
        if needed:
            self._reload_bar.show_text(
                tr("Takes effect when the model is loaded again."), tr("Reload now")
            )
        else:
            self._reload_bar.hide()
            self._forecast.set_forecast(None)

    def set_forecast(self, forecast: Forecast | None) -> None:
        """Say what loading the model with the new settings would take."""
        self._forecast.set_forecast(forecast)

    def set_model_info(self, info: ModelInfo | None) -> None:
        """Show the loaded model's facts, or none."""
        self._sheet.set_model(info)

    def suggest(self, numbers: Mapping[str, float]) -> None:
        """What "Automatic" stands for at present, where that is known."""
        for key, number in numbers.items():
            row = self._rows.get(key)
            if row is not None and isinstance(row.editor, NumberEditor):
                row.editor.suggest(number)

    def set_row_shown(self, key: str, *, shown: bool) -> None:
        """Show a setting, or hide one that this machine has no use for."""
        if (row := self._rows.get(key)) is not None:
            row.setVisible(shown)

    def set_problem(self, key: str, words: str) -> None:
        """Say under a setting what is wrong with its value; empty words: nothing is."""
        if (row := self._rows.get(key)) is not None:
            row.show_problem(words)

    def accept(self, key: str, value: SettingValue) -> None:
        """A draft was found right: it is a change."""
        self.changed.emit(key, value)

    def place_below(self, key: str, widget: QWidget) -> None:
        """Put a widget under a setting's row."""
        self._column.insertWidget(self._column.indexOf(self._rows[key]) + 1, widget)

    def focus_first(self) -> None:
        """Put the focus on the first setting."""
        for row in self._rows.values():
            row.editor.input_widget().setFocus(Qt.FocusReason.ShortcutFocusReason)
            return

    def row(self, key: str) -> FieldRow:
        """The row of a setting."""
        return self._rows[key]

    # ------------------------------------------------------------------ building

    def _scroll_area(self, page: QWidget) -> QScrollArea:
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(page)
        return area

    def _page(self, sections: Sequence[Section]) -> QWidget:
        page = QWidget(self)
        set_look(page, "clear")
        # a narrow panel wraps the lines; it never scrolls sideways
        page.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._column = layout = QVBoxLayout(page)
        layout.setContentsMargins(MARGIN, 12, MARGIN, 24)
        layout.setSpacing(BETWEEN_ROWS)
        for number, section in enumerate(sections):
            if number:
                layout.addSpacing(8)
            layout.addWidget(self._section_title(section.title, page))
            for field in section.fields:
                layout.addWidget(self._field_row(field, page))
            if number == 0:
                layout.addWidget(self._sheet)
        reset = QPushButton(tr("Reset to defaults"), page)
        reset.clicked.connect(self.reset_requested)
        layout.addWidget(reset, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addStretch(1)
        return page

    def _section_title(self, title: str, page: QWidget) -> QLabel:
        label = QLabel(tr(title), page)
        set_look(label, "heading")
        return label

    def _field_row(self, field: Field, page: QWidget) -> FieldRow:
        row = FieldRow(field, page)
        row.changed.connect(self.drafted if field.is_checked else self.changed)
        if isinstance(row.editor, ModelPathEditor):
            row.editor.file_chosen.connect(self.model_file_chosen)
        self._rows[field.key] = row
        return row
