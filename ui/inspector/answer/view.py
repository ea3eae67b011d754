"""The Answer view: one answer, stage by stage.

Shows a report, or what is known of an older answer; measures nothing.
"""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QVBoxLayout, QWidget

from engine.api import AnswerReport, Timeline
from ui.diagnosis.card import DiagnosisCard
from ui.i18n import tr
from ui.inspector.answer.compared import ComparedSection
from ui.inspector.answer.export_row import ExportRow
from ui.inspector.answer.itl import ItlSection
from ui.inspector.answer.lanes import pipeline_of
from ui.inspector.answer.profile import ProfileSection
from ui.inspector.answer.timing import TimingSection
from ui.theme import ThemeSource, set_look

MARGIN = 18


class AnswerView(QWidget):
    """Filled by its controller while it is on the screen. ``latest_wanted``: not this old one."""

    latest_wanted = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: AnswerReport | Timeline | None = None
        self._nothing = self._label("small")
        self._nothing.setText(tr("Ask something: where an answer's time went is shown here."))
        self._title = self._label("small")
        self._latest = QPushButton(tr("Show the latest answer"), self)
        set_look(self._latest, "link-small")
        self._latest.clicked.connect(self.latest_wanted)
        self.diagnosis = DiagnosisCard(themes, self)
        self.timing = TimingSection(themes, self)
        self.export = ExportRow(themes, self)
        self._parts = QWidget(self)
        self._column = QVBoxLayout(self._parts)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(8)
        self._column.addWidget(self._title)
        self._column.addWidget(self._latest, 0, Qt.AlignmentFlag.AlignLeft)
        self._column.addWidget(self.diagnosis)
        self._add_section(tr("Where the time went"), self.timing)
        self._column.addWidget(self.export)
        self.itl = ItlSection(themes, self)
        self._itl_part = self._add_section(tr("Between tokens (ITL)"), self.itl)
        self.profile = ProfileSection(themes, self)
        self._add_section(tr("Inside the model"), self.profile)
        self.compared = ComparedSection(self)
        self._compared_part = self._add_section(tr("Beside another answer"), self.compared)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 14, MARGIN, 24)
        layout.addWidget(self._nothing)
        layout.addWidget(self._parts)
        layout.addStretch(1)
        self.show_nothing()

    @property
    def text(self) -> str:
        """The answer in a sentence."""
        return self._nothing.text() if self._parts.isHidden() else self.timing.text

    # ------------------------------------------------------------------ what it is told

    def set_answer(self, words: str, *, is_latest: bool) -> None:
        """Which answer this is, by its first words."""
        self._title.setText(words)
        self._latest.setHidden(is_latest)

    def set_others(self, rows: Sequence[tuple[int, str]], chosen: int | None) -> None:
        """Answers that this one can be compared with."""
        self.compared.set_others(rows, chosen)
        self._compared_part.setVisible(bool(rows))

    def show_nothing(self) -> None:
        """There is no answer to look at, or nothing is known of it."""
        self._shown = None
        self._parts.hide()
        self._nothing.show()

    def show_report(self, report: AnswerReport) -> None:
        """Show what was observed of an answer."""
        if report is self._shown:
            return
        self._shown = report
        shown = pipeline_of(report.timeline, report.chunks, is_complete=report.is_complete)
        self.timing.set_pipeline(shown)
        self.itl.set_report(report)
        self._itl_part.show()
        self.export.set_possible(is_possible=True)
        self._show_parts()

    def show_timeline(self, timeline: Timeline) -> None:
        """Show an answer that was not observed, by its figures alone."""
        if timeline is self._shown:
            return
        self._shown = timeline
        self.timing.set_pipeline(pipeline_of(timeline))
        self._itl_part.hide()
        self.export.set_possible(is_possible=False)
        self._show_parts()

    def _show_parts(self) -> None:
        self._nothing.hide()
        self._parts.show()

    # ------------------------------------------------------------------ building

    def _add_section(self, title: str, section: QWidget) -> QWidget:
        """A section below the others, under a line and its title; returns all of it."""
        part = QWidget(self)
        line = QFrame(part)
        set_look(line, "hairline")
        heading = self._label("heading")
        heading.setText(title)
        column = QVBoxLayout(part)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(8)
        for widget in (line, heading, section):
            column.addWidget(widget)
        self._column.addWidget(part)
        return part

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        set_look(label, look)
        return label
