"""One control for each kind of setting, all with the same small surface.

An editor checks what is typed: a value outside its declaration is told in words and not emitted.
Knows one ``Field``; no page, no storage.
"""

from abc import abstractmethod

from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QMouseEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QWidget,
)
from typing_extensions import override

from ui.i18n import tr
from ui.settings.fields import Field, SettingValue
from ui.theme import set_look
from ui.widgets.calm_box import CalmComboBox

TYPING_PAUSE_MS = 500
SHOWN_LINES = 5


class Editor(QWidget):
    """Edits one setting.

    ``value_changed(object)``: the user chose a valid value. ``problem_changed(str)``: what is
    wrong with the input, in words; empty when nothing is.
    """

    value_changed = Signal(object)
    problem_changed = Signal(str)

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._field = field
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(8)

    @abstractmethod
    def set_value(self, value: SettingValue) -> None:
        """Show a value without emitting it."""

    @abstractmethod
    def input_widget(self) -> QWidget:
        """The control that takes the focus and the accessible name."""

    def finish(self) -> None:
        """Emit at once what waits for a pause in typing."""

    def _name(self, widget: QWidget) -> None:
        widget.setAccessibleName(tr(self._field.label))
        widget.setAccessibleDescription(tr(self._field.help))
        self.setFocusProxy(widget)


class ChoiceEditor(Editor):
    """One of the declared choices; None, where allowed, is the first entry."""

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(field, parent)
        self._box = CalmComboBox(self)
        self._box.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self._box.setMinimumContentsLength(8)
        if field.automatic is not None:
            self._box.addItem(tr(field.automatic), None)
        for choice in field.choices:
            self._box.addItem(tr(choice.label), choice.value)
        self._box.activated.connect(self._on_activated)
        self._row.addWidget(self._box, 1)
        self._name(self._box)

    @override
    def input_widget(self) -> QWidget:
        return self._box

    @override
    def set_value(self, value: SettingValue) -> None:
        for row in range(self._box.count()):
            if self._box.itemData(row) == value:
                self._box.setCurrentIndex(row)
                return
        self._box.setCurrentIndex(-1)

    def _on_activated(self, row: int) -> None:
        self.value_changed.emit(self._box.itemData(row))


class _BoxWords(QLabel):
    """What stands beside a box: it wraps, which a box's own text does not, and is part of it."""

    pressed = Signal()

    def __init__(self, words: str, parent: QWidget) -> None:
        super().__init__(words, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)

    @override
    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        if ev.button() is Qt.MouseButton.LeftButton and self.rect().contains(
            ev.position().toPoint()
        ):
            self.pressed.emit()


class SwitchEditor(Editor):
    """Yes or no."""

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(field, parent)
        self._box = QCheckBox(self)
        self._box.clicked.connect(self._on_clicked)
        words = _BoxWords(tr(field.label), self)
        words.pressed.connect(self._box.click)
        self._row.setSpacing(0)  # a box keeps room for words of its own
        self._row.addWidget(self._box, 0, Qt.AlignmentFlag.AlignTop)
        self._row.addWidget(words, 1)
        self._name(self._box)

    @override
    def input_widget(self) -> QWidget:
        return self._box

    @override
    def set_value(self, value: SettingValue) -> None:
        self._box.setChecked(bool(value))

    def _on_clicked(self) -> None:
        self.value_changed.emit(self._box.isChecked())


class TextEditor(Editor):
    """One line of text, taken when the line is left or Enter is pressed."""

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(field, parent)
        self._shown: SettingValue = None
        self._line = QLineEdit(self)
        if field.automatic is not None:
            self._line.setPlaceholderText(tr(field.automatic))
        if field.is_secret:
            self._line.setEchoMode(QLineEdit.EchoMode.PasswordEchoOnEdit)
        self._line.editingFinished.connect(self.finish)
        self._row.addWidget(self._line, 1)
        self._name(self._line)

    @override
    def input_widget(self) -> QWidget:
        return self._line

    @override
    def set_value(self, value: SettingValue) -> None:
        self._shown = value
        self._line.setText("" if value is None else str(value))

    @override
    def finish(self) -> None:
        text = self._line.text()
        value = None if not text and self._field.automatic is not None else text
        if value != self._shown:
            self._shown = value
            self.value_changed.emit(value)


class MultilineEditor(Editor):
    """Several lines of text, taken after a pause in typing or when left."""

    def __init__(self, field: Field, parent: QWidget | None = None) -> None:
        super().__init__(field, parent)
        self._shown = ""
        self._text = _LeavingTextEdit(self)
        set_look(self._text, "field")
        self._text.setTabChangesFocus(True)
        self._pause = QTimer(self)
        self._pause.setObjectName(f"typingPause.{field.key}")
        self._pause.setSingleShot(True)
        self._pause.setInterval(TYPING_PAUSE_MS)
        self._pause.timeout.connect(self.finish)
        self._text.textChanged.connect(self._pause.start)
        self._text.left.connect(self.finish)
        self._row.addWidget(self._text, 1)
        self._name(self._text)

    @override
    def input_widget(self) -> QWidget:
        return self._text

    @override
    def set_value(self, value: SettingValue) -> None:
        text = "" if value is None else str(value)
        self._shown = text
        if text == self._text.toPlainText():
            return
        with QSignalBlocker(self._text):
            self._text.setPlainText(text)

    @override
    def finish(self) -> None:
        self._pause.stop()
        text = self._text.toPlainText()
        if text != self._shown:
            self._shown = text
            self.value_changed.emit(text)


class _LeavingTextEdit(QPlainTextEdit):
    """A text box that says when the focus leaves it."""

    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @override
    def sizeHint(self) -> QSize:
        height = SHOWN_LINES * self.fontMetrics().lineSpacing() + 2 * self.fontMetrics().height()
        return QSize(super().sizeHint().width(), height)

    @override
    def focusOutEvent(self, e: QFocusEvent) -> None:
        super().focusOutEvent(e)
        self.left.emit()
