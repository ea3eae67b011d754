"""What each weight precision would take and cost on this model, below the setting itself."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget
from typing_extensions import override

from ui.settings.measure_bar import MeasureBar
from ui.settings.precision_lines import MeasuringState, PrecisionLine
from ui.settings.precision_table import PrecisionTable
from ui.theme import ThemeSource, set_look


class PrecisionPanel(QWidget):
    """The table and the button to measure. ``shown``, ``hidden``: somebody looks, or not."""

    shown = Signal()
    hidden = Signal()
    chosen = Signal(str)
    measure_requested = Signal()
    cancel_requested = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._table = PrecisionTable(themes, self)
        self._table.chosen.connect(self.chosen)
        self._table.hide()
        self._note = QLabel(self)
        set_look(self._note, "small")
        self._note.setWordWrap(True)
        self._note.setTextFormat(Qt.TextFormat.PlainText)
        self._note.hide()
        self._bar = MeasureBar(self)
        self._bar.measure_requested.connect(self.measure_requested)
        self._bar.cancel_requested.connect(self.cancel_requested)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for widget in (self._table, self._note, self._bar):
            column.addWidget(widget)

    @property
    def table(self) -> PrecisionTable:
        """The rows."""
        return self._table

    @property
    def bar(self) -> MeasureBar:
        """The button, and how far it is."""
        return self._bar

    def set_lines(self, lines: Sequence[PrecisionLine], selected: str) -> None:
        """Show these lines, or no table without any."""
        self._table.set_lines(lines, selected)
        self._table.setVisible(bool(lines))

    def set_note(self, note: str) -> None:
        """Say one quiet sentence in place of the table; empty for none."""
        self._note.setText(note)
        self._note.setVisible(bool(note))

    def set_measuring(self, state: MeasuringState) -> None:
        """Offer to measure, or show how far it is."""
        self._bar.set_state(state)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.hidden.emit()
