"""The times between tokens: figures, two drawings, the stalls, and the window's own delay."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from engine.api import AnswerReport
from ui.charts.chart_table import ChartTable
from ui.i18n import tr
from ui.inspector.answer.gap_charts import GapSpread, GapTrace
from ui.inspector.answer.gaps import Gaps, gaps_of, speed_words, stalls_text, table_of
from ui.theme import ThemeSource, set_look
from ui.widgets.units import milliseconds


class ItlSection(QWidget):
    """Filled from a report; live while the answer goes on."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._gaps: Gaps | None = None
        self._figures = self._label("fact")
        self._speeds = self._label("small")
        self._stalls = self._label("fact")
        self._stalls.setAccessibleName(tr("Stalls"))
        self.trace = GapTrace(themes, self)
        self.spread = GapSpread(themes, self)
        self._as_table = QPushButton(tr("Show as a table"), self)
        self._as_table.setCheckable(True)
        set_look(self._as_table, "link-small")
        self._as_table.toggled.connect(self._on_as_table)
        self._table = ChartTable(tr("How long the gaps are"), self)
        self._table.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for part in (self._figures, self._speeds, self.trace, self._stalls, self.spread):
            column.addWidget(part)
        column.addWidget(self._as_table, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._table)

    @property
    def text(self) -> str:
        """All that is said beside the drawings."""
        lines = (self._figures.text(), self._speeds.text(), self._stalls.text())
        return "\n".join(line for line in lines if line)

    def set_report(self, report: AnswerReport) -> None:
        """Show the gaps of an answer, under way or at its end."""
        self._gaps = gaps = gaps_of(report.gaps_ns, report.stalls)
        self._speeds.setText(speed_words(report.timeline.decode_tokens_per_s, report.paint))
        self.trace.set_gaps(gaps)
        self.spread.set_gaps(gaps)
        self._figures.setText("" if gaps is None else _figures(gaps))
        self._stalls.setText("" if gaps is None else _stalls(gaps))
        self._fill_table()

    def _on_as_table(self, is_shown: bool) -> None:  # noqa: FBT001 - Qt calls it so
        self._table.setVisible(is_shown)
        self._as_table.setText(tr("Hide the table") if is_shown else tr("Show as a table"))
        self._fill_table()

    def _fill_table(self) -> None:
        if self._as_table.isChecked() and self._gaps is not None:
            self._table.set_table(table_of(self._gaps))

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        set_look(label, look)
        return label


def _figures(gaps: Gaps) -> str:
    words = tr(
        "p50 {p50} · p95 {p95} · p99 {p99} · max {max} ms",
        p50=milliseconds(gaps.p50_ns),
        p95=milliseconds(gaps.p95_ns),
        p99=milliseconds(gaps.p99_ns),
        max=milliseconds(gaps.max_ns),
    )
    if gaps.has_shared:
        words += "\n" + tr("Steps gave several tokens at once: these have no gap.")
    return words


def _stalls(gaps: Gaps) -> str:
    return stalls_text(gaps.stalls) if gaps.stalls else tr("No stalls.")
