"""The button that measures what each precision loses, and how far the measuring is."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from ui.i18n import tr
from ui.settings.precision_lines import MeasuringState
from ui.theme import set_look
from ui.widgets.about_time import about_time
from ui.widgets.flow import FlowLayout

_STEPS = 1000


class MeasureBar(QWidget):
    """Hidden while there is nothing to measure."""

    measure_requested = Signal()
    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.button = QPushButton(self)
        self.button.clicked.connect(self.measure_requested)
        self._time = self._label("small")
        self._doing = self._label("small")
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._bar.setRange(0, _STEPS)
        self.cancel_button = QPushButton(tr("Cancel"), self)
        self.cancel_button.clicked.connect(self.cancel_requested)
        self._problem = self._label("danger-small")
        for label in (self._doing, self._problem):
            label.setWordWrap(True)
        offer = FlowLayout(8, 4)
        offer.addWidget(self.button)
        offer.addWidget(self._time)
        run = QHBoxLayout()
        run.setSpacing(8)
        run.addWidget(self._bar, 1)
        run.addWidget(self.cancel_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addLayout(offer)
        column.addWidget(self._doing)
        column.addLayout(run)
        column.addWidget(self._problem)
        self.set_state(MeasuringState())

    @property
    def texts(self) -> list[str]:
        """What is written in it now."""
        labels = (self._time, self._doing, self._problem)
        return [label.text() for label in labels if not label.isHidden()]

    def set_state(self, state: MeasuringState) -> None:
        """Offer to measure, or show how far it is."""
        had_focus = self.button.hasFocus() or self.cancel_button.hasFocus()
        self.setVisible(state.is_running or state.seconds is not None or bool(state.problem))
        offers = not state.is_running and state.seconds is not None
        self.button.setText(tr("Measure again") if state.is_again else tr("Measure the loss"))
        self.button.setToolTip(
            tr("Compares each precision with FP32 on two built-in texts, beside your chats.")
        )
        self._time.setText("" if state.seconds is None else about_time(state.seconds))
        for widget in (self.button, self._time):
            widget.setVisible(offers)
        self._doing.setText(self._words(state))
        self._bar.setValue(round(state.part * _STEPS))
        self._bar.setAccessibleName(self._doing.text())
        for part in (self._doing, self._bar, self.cancel_button):
            part.setVisible(state.is_running)
        self._problem.setText(state.problem)
        self._problem.setVisible(bool(state.problem))
        if had_focus:
            (self.cancel_button if state.is_running else self.button).setFocus()

    @staticmethod
    def _words(state: MeasuringState) -> str:
        if not state.is_running:
            return ""
        part = f"{state.part:.0%}"
        if state.count == 1:
            return tr("Measuring {name}: {part}", name=state.name, part=part)
        return tr(
            "Measuring {name}, {number} of {count}: {part}",
            name=state.name,
            number=state.number,
            count=state.count,
            part=part,
        )

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        set_look(label, look)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label
