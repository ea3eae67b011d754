"""One large figure with its unit, and a quiet line at the right of it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget
from typing_extensions import override

from ui.theme import ThemeSource, set_look
from ui.widgets.units import UNKNOWN, Quantity


class Reading(QWidget):
    """Title above, number and unit below, details to the right."""

    def __init__(self, title: str, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = title
        self._themes = themes
        heading = self._label("small")
        heading.setText(title)
        self._number = self._label("number")
        self._unit = self._label("unit")
        self._details = self._label("small")
        row = QHBoxLayout()
        row.setSpacing(6)
        for label in (self._number, self._unit):
            row.addWidget(label, 0, Qt.AlignmentFlag.AlignBaseline)
        row.addStretch(1)
        row.addWidget(self._details, 0, Qt.AlignmentFlag.AlignBaseline)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(heading)
        layout.addLayout(row)
        themes.changed.connect(self._on_theme)
        self._on_theme()
        self.clear()

    @property
    def text(self) -> str:
        """Number, unit and details as one line."""
        parts = (self._number.text(), self._unit.text(), self._details.text())
        return " ".join(part for part in parts if part)

    def clear(self) -> None:
        """Show that there is no value yet."""
        self.show_text(UNKNOWN)

    def show_quantity(self, quantity: Quantity, details: str = "", beside: str = "") -> None:
        """Show a figure; ``beside`` follows the unit (" / 512")."""
        self.show_text(quantity.number, f"{quantity.unit}{beside}", details)

    def show_text(self, number: str, unit: str = "", details: str = "") -> None:
        """Show ready text."""
        for label, text in ((self._number, number), (self._unit, unit), (self._details, details)):
            if label.text() != text:
                label.setText(text)
                self._fit(label)
        self.setAccessibleName(f"{self._title}: {self.text}")

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit_all()

    def _fit_all(self) -> None:
        for label in (self._number, self._unit, self._details):
            self._fit(label)

    def _fit(self, label: QLabel) -> None:
        """Make the label as large as its text: its column is then laid out for new sizes only."""
        if self.isVisible():
            label.setFixedSize(label.sizeHint())

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        set_look(label, look)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    def _on_theme(self) -> None:
        # tabular figures: a number that changes does not make its neighbours jump
        for label in (self._number, self._unit, self._details):
            label.setFont(self._themes.font())
        self._fit_all()
