"""The number editor: spin box, slider where the range is known, and "Automatic" for None.

Typing is not corrected behind the user's back: a number out of range stays, is told in words
and is not emitted.
"""

import math

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QSlider,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from ui.i18n import tr
from ui.settings.editors import Editor
from ui.settings.fields import Field, SettingValue
from ui.theme import set_look

SLIDER_STEPS = 200
# a range that spans more than this factor gets a logarithmic slider
LOG_FACTOR = 64
ANY_NUMBER = 1e15
# text that fits the box where no maximum is declared, and the room around it
WIDEST_TEXT = "9,999,999"
ROOM = 34
TEXT_MARGIN = 6


class NumberBox(QDoubleSpinBox):
    """Accepts any number while typing; steps stay in range. The wheel needs the focus."""

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._low = -math.inf if field.minimum is None else field.minimum
        self._high = math.inf if field.maximum is None else field.maximum
        self._widest = WIDEST_TEXT
        if field.maximum is not None:
            self._widest = max(number_text(field, field.maximum), "0" * 7, key=len)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setDecimals(0 if field.kind == "int" else field.decimals)
        self.setRange(-ANY_NUMBER, ANY_NUMBER)
        self.setSingleStep(field.step or (1.0 if field.kind == "int" else 0.05))
        self.setGroupSeparatorShown(not field.is_name)
        self.lineEdit().setTextMargins(TEXT_MARGIN, 0, TEXT_MARGIN, 0)
        # half a number is nobody's choice: typing counts when it is done
        self.setKeyboardTracking(False)

    @override
    def sizeHint(self) -> QSize:
        # the range is wider than what is ever shown: measure the declared maximum
        width = self.fontMetrics().horizontalAdvance(self._widest) + ROOM
        return QSize(width, super().sizeHint().height())

    @override
    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @override
    def stepBy(self, steps: int) -> None:
        super().stepBy(steps)
        self.setValue(min(max(self.value(), self._low), self._high))

    @override
    def stepEnabled(self) -> QDoubleSpinBox.StepEnabledFlag:
        enabled = QDoubleSpinBox.StepEnabledFlag.StepNone
        if self.value() > self._low:
            enabled |= QDoubleSpinBox.StepEnabledFlag.StepDownEnabled
        if self.value() < self._high:
            enabled |= QDoubleSpinBox.StepEnabledFlag.StepUpEnabled
        return enabled

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class CalmSlider(QSlider):
    """A slider that a passing scroll wheel does not move."""

    @override
    def sizeHint(self) -> QSize:
        # the style sheet's handle stands out of the groove and follows the zoom, as the font does
        height = self.fontMetrics().height()
        return QSize(3 * height, height * 3 // 2)

    @override
    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @override
    def wheelEvent(self, e: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(e)
        else:
            e.ignore()


class Scale:
    """Maps slider positions 0..SLIDER_STEPS to values of a field and back."""

    def __init__(self, field: Field, low: float, high: float) -> None:
        self._low, self._high = low, high
        self._step = field.step or (1.0 if field.kind == "int" else 0.0)
        self._is_log = low > 0 and high / low > LOG_FACTOR

    def value(self, position: int) -> float:
        """The value at a position, rounded to the field's step; the ends are exact."""
        if position <= 0:
            return self._low
        if position >= SLIDER_STEPS:
            return self._high
        part = position / SLIDER_STEPS
        if self._is_log:
            value = self._low * math.exp(math.log(self._high / self._low) * part)
        else:
            value = self._low + (self._high - self._low) * part
        if self._step:
            value = self._low + round((value - self._low) / self._step) * self._step
        return min(max(value, self._low), self._high)

    def position(self, value: float) -> int:
        """The nearest position of a value; out of range, the near end."""
        inside = min(max(value, self._low), self._high)
        if self._high <= self._low:
            return 0
        if self._is_log:
            part = math.log(inside / self._low) / math.log(self._high / self._low)
        else:
            part = (inside - self._low) / (self._high - self._low)
        return round(part * SLIDER_STEPS)


class NumberEditor(Editor):
    """An int or float setting."""

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(field, parent)
        self._automatic = self._build_automatic()
        self._box = NumberBox(field, self)
        self._box.valueChanged.connect(self._on_number)
        self._slider, self._scale = self._build_slider()
        column = QVBoxLayout()
        column.setSpacing(6)
        if self._automatic is not None:
            column.addWidget(self._automatic)
        self._numbers = self._number_row()
        column.addWidget(self._numbers)
        self._row.addLayout(column, 1)
        self._name(self._box)
        self._show_number(self._first_number())

    def _first_number(self) -> float:
        # where "Automatic" starts from when it is switched off
        if self._scale is not None:
            return self._scale.value(SLIDER_STEPS // 2)
        return self._field.minimum or 0.0

    def _number_row(self) -> QWidget:
        numbers = QWidget(self)
        row = QHBoxLayout(numbers)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        if self._slider is not None:
            row.addWidget(self._slider, 1)
        row.addWidget(self._box)
        if self._field.unit:
            unit = QLabel(tr(self._field.unit), self)
            set_look(unit, "small")
            row.addWidget(unit)
        if self._slider is None:
            row.addStretch(1)
        return numbers

    def _build_automatic(self) -> QCheckBox | None:
        if self._field.automatic is None:
            return None
        box = QCheckBox(tr(self._field.automatic), self)
        box.setAccessibleName(f"{tr(self._field.label)}: {tr(self._field.automatic)}")
        box.clicked.connect(self._on_automatic)
        return box

    def _build_slider(self) -> tuple[CalmSlider | None, Scale | None]:
        low, high = self._field.minimum, self._field.maximum
        if low is None or high is None or self._field.is_name:
            return None, None
        slider = CalmSlider(Qt.Orientation.Horizontal, self)
        slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        slider.setRange(0, SLIDER_STEPS)
        slider.setPageStep(SLIDER_STEPS // 10)
        slider.setAccessibleName(tr(self._field.label))
        slider.valueChanged.connect(self._on_slider)
        return slider, Scale(self._field, low, high)

    @override
    def input_widget(self) -> QWidget:
        return self._box

    @override
    def set_value(self, value: SettingValue) -> None:
        is_automatic = value is None
        if self._automatic is not None:
            self._automatic.setChecked(is_automatic)
        self._numbers.setVisible(not is_automatic)
        if value is not None and not isinstance(value, str):
            self._show_number(float(value))
        self.problem_changed.emit("")

    def suggest(self, number: float) -> None:
        """Where to start from when "Automatic" is switched off: what it stands for now."""
        if self._automatic is not None and self._automatic.isChecked():
            self._show_number(number)

    def _show_number(self, number: float) -> None:
        if self._box.value() != number:
            with QSignalBlocker(self._box):
                self._box.setValue(number)
        if self._slider is not None and self._scale is not None:
            with QSignalBlocker(self._slider):
                self._slider.setValue(self._scale.position(number))

    def _on_automatic(self) -> None:
        is_automatic = self._automatic is not None and self._automatic.isChecked()
        self._numbers.setVisible(not is_automatic)
        if is_automatic:
            self.problem_changed.emit("")
            self.value_changed.emit(None)
        else:
            self._on_number(self._box.value())

    def _on_slider(self, position: int) -> None:
        if self._scale is not None:
            self._box.setValue(self._scale.value(position))

    def _on_number(self, number: float) -> None:
        problem = range_problem(self._field, number)
        self.problem_changed.emit(problem)
        if problem:
            return
        self._show_number(number)
        self.value_changed.emit(int(number) if self._field.kind == "int" else number)


def number_text(field: Field, number: float) -> str:
    """A number as the field writes it."""
    if field.is_name:
        return f"{number:.0f}"
    if field.kind == "int" or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.{field.decimals}f}".rstrip("0")


def range_problem(field: Field, number: float) -> str:
    """What is wrong with a number, in words; empty when it is in range."""
    low, high = field.minimum, field.maximum
    is_low = low is not None and number < low
    is_high = high is not None and number > high
    if not is_low and not is_high:
        return ""
    if low is not None and high is not None:
        return tr(
            "Not taken: choose a number from {low} to {high}.",
            low=number_text(field, low),
            high=number_text(field, high),
        )
    if low is not None:
        return tr("Not taken: at least {low}.", low=number_text(field, low))
    return tr("Not taken: at most {high}.", high=number_text(field, high or 0))
