"""A memory budget that one can set: a number of MiB, what it would give, and a button."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSpinBox, QVBoxLayout, QWidget
from typing_extensions import override

from ui.i18n import tr
from ui.theme import set_look
from ui.widgets.flow import FlowLayout

MIB = 1 << 20


class _Box(QSpinBox):
    """A number that a passing scroll wheel does not change."""

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class BudgetRow(QWidget):
    """``changed(mib)``: another number stands there. ``applied(mib)``: None for automatic."""

    changed = Signal(int)
    applied = Signal(object)

    def __init__(
        self, title: str, least: int, most: int, step: int, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._is_touched = False
        self._set: int | None = None
        heading = self._label("heading")
        heading.setText(title)
        self.box = _Box(self)
        self.box.setRange(least, most)
        self.box.setSingleStep(step)
        self.box.setGroupSeparatorShown(True)
        self.box.lineEdit().setTextMargins(6, 0, 6, 0)
        self.box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.box.setAccessibleName(title)
        self.box.valueChanged.connect(self._on_value)
        unit = self._label("small")
        unit.setText("MiB")
        self.apply = QPushButton(tr("Apply"), self)
        self.apply.setAccessibleName(tr("Apply: {name}", name=title))
        self.apply.clicked.connect(self._on_apply)
        self.automatic = QPushButton(tr("Automatic"), self)
        set_look(self.automatic, "link-small")
        self.automatic.clicked.connect(self._on_automatic)
        self._gives = self._label("small")
        self._gives.setWordWrap(True)
        number = QWidget(self)
        row = QHBoxLayout(number)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self.box)
        row.addWidget(unit)
        flow = FlowLayout(8, 4)
        for widget in (number, self.apply, self.automatic):
            flow.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(heading)
        column.addLayout(flow)
        column.addWidget(self._gives)
        self._dress()

    @property
    def text(self) -> str:
        """What it would give."""
        return self._gives.text()

    def set_budget(self, mib: int | None, now_bytes: int) -> None:
        """The setting, and what is in force; a number that is being chosen stays."""
        if mib != self._set:
            self._is_touched = False
        self._set = mib
        if not self._is_touched:
            with QSignalBlocker(self.box):
                self.box.setValue(-(-now_bytes // MIB) if mib is None else mib)
        self._dress()

    def set_gives(self, words: str) -> None:
        """What the number that stands there would give."""
        self._gives.setText(words)
        self._gives.setVisible(bool(words))

    def _on_value(self, mib: int) -> None:
        self._is_touched = True
        self._dress()
        self.changed.emit(mib)

    def _on_apply(self) -> None:
        self._is_touched = False
        self.applied.emit(self.box.value())

    def _on_automatic(self) -> None:
        self._is_touched = False
        self.applied.emit(None)

    def _dress(self) -> None:
        self.apply.setEnabled(self._is_touched and self.box.value() != self._set)
        self.automatic.setVisible(self._set is not None)

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        set_look(label, look)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label
