"""The settings page, built from declarations alone, a row at a time once somebody wants to see it.

Shows values it is given and emits valid changes; it stores nothing and knows no single setting.
Where only somebody else can tell what is valid, it emits a draft, and the change once it is accepted.
What belongs to one setting and is more than a field is put below it by whoever knows it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from engine.api import ModelInfo
from ui.i18n import tr
from ui.settings.fields import Section, SettingValue
from ui.settings.forecast import Forecast, ForecastLine
from ui.theme import ThemeSource, set_look
from ui.widgets.action_bar import ActionBar
from ui.widgets.tab_order import place_after

if TYPE_CHECKING:
    from ui.settings.model_sheet import ModelSheet
    from ui.settings.row import FieldRow

SETTINGS = "settings"
MARGIN = 18
BETWEEN_ROWS = 18


class SettingsPanel(QWidget):
    """All sections under each other, a reload bar above, the model's facts below.

    ``steps`` makes them; what the page is told before is shown then. ``wanted``, with SETTINGS: the
    page is looked at and is not whole.
    """

    wanted = Signal(str)
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
        self._sections = sections
        self._fields = {field.key: field for section in sections for field in section.fields}
        self._rows: dict[str, FieldRow] = {}
        self._values: dict[str, SettingValue] = {}
        self._numbers: dict[str, float] = {}
        self._problems: dict[str, str] = {}
        self._shown: dict[str, bool] = {}
        self._below: dict[str, QWidget] = {}
        self._info: ModelInfo | None = None
        self._sheet: ModelSheet | None = None
        self._is_whole = False
        self._hold_focus()
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
        self._page, self._column = self._empty_page()
        self._last_stop: QWidget | None = None  # of the Tab key
        self._area = self._scroll_area()
        layout.addWidget(self._area, 1)

    # ------------------------------------------------------------------ what it is told

    def set_values(self, values: Mapping[str, SettingValue]) -> None:
        """Show these values; keys that no field declares are ignored."""
        for key, value in values.items():
            self.set_value(key, value)

    def set_value(self, key: str, value: SettingValue) -> None:
        """Show one value, without emitting a change; where there was a draft it is the new one."""
        if (field := self._fields.get(key)) is None:
            return
        self._values[key] = value
        if (row := self._rows.get(key)) is not None:
            row.set_value(value)
        if field.is_checked:
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
        self._info = info
        if self._sheet is not None:
            self._sheet.set_model(info)

    def suggest(self, numbers: Mapping[str, float]) -> None:
        """What "Automatic" stands for at present, where that is known."""
        self._numbers.update(numbers)
        for key, number in numbers.items():
            if (row := self._rows.get(key)) is not None:
                row.suggest(number)

    def set_row_shown(self, key: str, *, shown: bool) -> None:
        """Show a setting, or hide one that this machine has no use for."""
        self._shown[key] = shown
        if (row := self._rows.get(key)) is not None:
            row.setVisible(shown)

    def set_problem(self, key: str, words: str) -> None:
        """Say under a setting what is wrong with its value; empty words: nothing is."""
        self._problems[key] = words
        if (row := self._rows.get(key)) is not None:
            row.show_problem(words)

    def accept(self, key: str, value: SettingValue) -> None:
        """A draft was found right: it is a change."""
        self.changed.emit(key, value)

    def place_below(self, key: str, widget: QWidget) -> None:
        """Put a widget under a setting's row, before or after that is made."""
        if (row := self._rows.get(key)) is not None:
            self._column.insertWidget(self._column.indexOf(row) + 1, widget)
        else:
            widget.setParent(self)
            widget.hide()
            self._below[key] = widget

    def focus_first(self) -> None:
        """Put the focus on the first setting, now or when it is there."""
        for row in self._rows.values():
            row.editor.input_widget().setFocus(Qt.FocusReason.ShortcutFocusReason)
            return
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def row(self, key: str) -> "FieldRow":
        """The row of a setting."""
        return self._rows[key]

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._is_whole:
            self.wanted.emit(SETTINGS)

    # ------------------------------------------------------------------ building

    def steps(self) -> Iterator[None]:
        """Make what the page shows; what lies between two ``yield`` is a row or less."""
        from ui.settings.row import FieldRow  # noqa: PLC0415 - most starts look at no setting

        for number, section in enumerate(self._sections):
            if number:
                self._column.addSpacing(8)
            self._column.addWidget(self._section_title(section.title))
            for field in section.fields:
                self._add_row(FieldRow(field, self._page))
                yield
            if number == 0:
                self._add_sheet()
                yield
        reset = QPushButton(tr("Reset to defaults"), self._page)
        reset.clicked.connect(self.reset_requested)
        self._column.addWidget(reset, 0, Qt.AlignmentFlag.AlignLeft)
        self._visit(reset)
        self._column.addStretch(1)
        self._is_whole = True

    def _add_row(self, row: "FieldRow") -> None:
        field, key = row.field, row.field.key
        row.changed.connect(self.drafted if field.is_checked else self.changed)
        row.file_chosen.connect(self.model_file_chosen)
        if key in self._values:
            row.set_value(self._values[key])
        if key in self._numbers:
            row.suggest(self._numbers[key])
        if self._problems.get(key):
            row.show_problem(self._problems[key])
        if not self._shown.get(key, True):
            row.hide()
        self._rows[key] = row
        self._column.addWidget(row)
        self._visit(row)
        if (below := self._below.get(key)) is not None:
            self._column.addWidget(below)
            below.show()
            self._visit(below)
        if len(self._rows) == 1:
            self._hand_focus_on()

    def _hold_focus(self) -> None:
        """As long as there is no setting: the page stands for them, at the keyboard and read aloud."""
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(tr("Settings"))
        self.setAccessibleDescription(tr("One moment: this page is being made."))

    def _hand_focus_on(self) -> None:
        if self.isVisible() and self.window().focusWidget() is self:
            self.focus_first()
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName("")
        self.setAccessibleDescription("")

    def _add_sheet(self) -> None:
        from ui.settings.model_sheet import ModelSheet  # noqa: PLC0415 - as for the rows

        self._sheet = ModelSheet(self._page)
        self._sheet.set_model(self._info)
        self._column.addWidget(self._sheet)

    def _visit(self, widget: QWidget) -> None:
        """Let the Tab key visit it next, in the order in which the page is read."""
        if self._last_stop is None:
            place_after(self._area, widget)
        for stop in _stops_in(widget):
            if self._last_stop is not None:
                QWidget.setTabOrder(self._last_stop, stop)
            self._last_stop = stop

    def _scroll_area(self) -> QScrollArea:
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(self._page)
        return area

    def _empty_page(self) -> tuple[QWidget, QVBoxLayout]:
        page = QWidget(self)
        set_look(page, "clear")
        # a narrow panel wraps the lines; it never scrolls sideways
        page.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        column = QVBoxLayout(page)
        column.setContentsMargins(MARGIN, 12, MARGIN, 24)
        column.setSpacing(BETWEEN_ROWS)
        return page, column

    def _section_title(self, title: str) -> QLabel:
        label = QLabel(tr(title), self._page)
        set_look(label, "heading")
        return label


def _stops_in(made: QWidget) -> list[QWidget]:
    """What the Tab key visits of a row: what takes the keyboard, and nothing inside of that."""
    if made.isWindow():  # a list that folds out
        return []
    if made.focusPolicy() & Qt.FocusPolicy.TabFocus:
        return [made]
    inside = made.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return [stop for child in inside for stop in _stops_in(child)]
