"""The Answer view: one answer, stage by stage.

Shows a report, or what is known of an older answer; measures nothing.
"""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from engine.api import AnswerReport, Timeline
from ui.i18n import tr
from ui.theme import ThemeSource, set_look
from ui.widgets.units import duration_quantity

MARGIN = 18


class AnswerView(QWidget):
    """Filled by its controller while it is on the screen."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._sentence = QLabel(self)
        self._sentence.setWordWrap(True)
        self._sentence.setTextFormat(Qt.TextFormat.PlainText)
        set_look(self._sentence, "small")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 16, MARGIN, 24)
        layout.addWidget(self._sentence)
        layout.addStretch(1)
        self.show_nothing()

    @property
    def text(self) -> str:
        """The answer in a sentence."""
        return self._sentence.text()

    def show_nothing(self) -> None:
        """There is no answer to look at, or nothing is known of it."""
        self._sentence.setText(tr("Ask something: where an answer's time went is shown here."))

    def show_report(self, report: AnswerReport) -> None:
        """Show what was observed of an answer."""
        self.show_timeline(report.timeline)

    def show_timeline(self, timeline: Timeline) -> None:
        """Show an answer that was not observed, by its figures alone."""
        self._sentence.setText(
            tr(
                "First token after {first}, complete after {whole}.",
                first=duration_quantity(timeline.ttft_ns),
                whole=duration_quantity(timeline.end_ns - timeline.sent_ns),
            )
        )
