"""An experiment in a window of its own: the same answer with the KV cache and without it.

Shows runs that its owner measures and asks for them by signal; knows no engine.
"""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QProgressBar,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from ui.i18n import tr
from ui.meters.curves import Curves, Run, RunKey
from ui.theme import ThemeSource, set_look
from ui.widgets.units import duration_quantity

LENGTHS = (64, 128, 256, 512, 1000)
DEFAULT_LENGTH = 256
TABLE_ROWS = 8
WIDTH = 700


def with_cache(times_ns: Sequence[int] = ()) -> Run:
    """The run that keeps what it computed."""
    return Run(tr("with the cache"), "stage_prefill", is_dashed=False, times_ns=tuple(times_ns))


def without_cache(times_ns: Sequence[int] = ()) -> Run:
    """The run that computes everything anew for each token."""
    return Run(tr("without the cache"), "stage_decode", is_dashed=True, times_ns=tuple(times_ns))


def verdict(kept: Run, anew: Run) -> str:
    """What was measured, over as many tokens as both runs have; empty below two."""
    count = min(len(kept.times_ns), len(anew.times_ns))
    if count < 2:
        return ""
    spans = [run.times_ns[count - 1] - run.times_ns[0] for run in (kept, anew)]
    if not all(spans):
        return ""
    return tr(
        "{count} tokens took {short} with the cache and {long} without it: {factor} times as long. "
        "Without it, each new token reads everything before it again, so its time grows with the "
        "answer, and the total with the square of its length.",
        count=f"{count:,}",
        short=duration_quantity(spans[0]),
        long=duration_quantity(spans[1]),
        factor=f"{spans[1] / spans[0]:.1f}",
    )


class CacheExperiment(QDialog):
    """Not modal: the chat stays usable. ``run_requested`` carries the number of tokens."""

    run_requested = Signal(int)
    cancel_requested = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._is_running = False
        self._runs = (with_cache(), without_cache())
        self.setWindowTitle(tr("What is the cache for?"))
        self.setModal(False)
        self._length = QComboBox(self)
        for length in LENGTHS:
            self._length.addItem(tr("{n} tokens", n=f"{length:,}"), length)
        self._length.setCurrentIndex(LENGTHS.index(DEFAULT_LENGTH))
        self._length.setAccessibleName(tr("Length of the answer"))
        self._start = QPushButton(tr("Measure"), self)
        set_look(self._start, "primary")
        self._start.clicked.connect(self._on_start)
        self._progress = QProgressBar(self)
        self._progress.setTextVisible(False)
        self._progress.setAccessibleName(tr("Progress"))
        self._state = self._label("small")
        self._verdict = self._label("fact")
        self._verdict.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._gaps = Curves(tr("Time of each token"), themes, self, is_total=False)
        self._totals = Curves(tr("Time so far"), themes, self, is_total=True)
        self._table = self._make_table()
        self._as_table = QPushButton(tr("Show as a table"), self)
        set_look(self._as_table, "link-small")
        self._as_table.setCheckable(True)
        self._as_table.toggled.connect(self._on_table)
        self._arrange()
        self.set_available(reason="")

    @property
    def verdict(self) -> str:
        """The sentence at the end."""
        return self._verdict.text()

    @property
    def state(self) -> str:
        """What is going on."""
        return self._state.text()

    @property
    def is_running(self) -> bool:
        """Whether a measurement is under way."""
        return self._is_running

    def set_available(self, *, reason: str) -> None:
        """Say why nothing can be measured at present; empty: something can."""
        if not self._is_running:
            self._start.setEnabled(not reason)
            self._state.setText(reason)

    def set_running(self, *, is_running: bool) -> None:
        """A measurement begins or has ended."""
        self._is_running = is_running
        self._start.setText(tr("Stop") if is_running else tr("Measure"))
        self._start.setEnabled(True)
        self._length.setEnabled(not is_running)
        self._progress.setVisible(is_running)

    def show_runs(self, kept: Run, anew: Run, num_tokens: int) -> None:
        """Draw what has been measured so far of an answer of ``num_tokens``."""
        self._runs = (kept, anew)
        for curves in (self._gaps, self._totals):
            curves.set_runs(self._runs, num_tokens)
        done = len(kept.times_ns) + len(anew.times_ns)
        self._progress.setRange(0, 2 * num_tokens)
        self._progress.setValue(done)
        present = anew if anew.times_ns else kept
        if self._is_running:
            words = tr(
                "{run}: {done} of {total} tokens",
                run=present.name,
                done=f"{len(present.times_ns):,}",
                total=f"{num_tokens:,}",
            )
            self._state.setText(words)

    def show_end(self, words: str = "") -> None:
        """End with the sentence about what was measured, or with why nothing was."""
        self.set_running(is_running=False)
        self._state.setText(words)
        self._verdict.setText(verdict(*self._runs))
        self._fill_table()

    def _on_start(self) -> None:
        if self._is_running:
            self.cancel_requested.emit()
        else:
            self._verdict.clear()
            self._table.setRowCount(0)
            self.run_requested.emit(self._length.currentData())

    def _on_table(self, is_shown: bool) -> None:  # noqa: FBT001 - the signal's
        self._table.setVisible(is_shown)
        self._fit_table()

    def _fit_table(self) -> None:
        """Make the table as high as its rows, and the window as high as it needs."""
        rows = self._table.verticalHeader().length()
        height = rows + self._table.horizontalHeader().sizeHint().height()
        self._table.setFixedHeight(height + 2 * self._table.frameWidth())
        self.resize(self.width(), self.sizeHint().height())

    def _fill_table(self) -> None:
        longest = max(len(run.times_ns) for run in self._runs)
        rows = sorted({max(1, longest * n // TABLE_ROWS) for n in range(1, TABLE_ROWS + 1)})
        self._table.setRowCount(len(rows) if longest > 1 else 0)
        for row, count in enumerate(rows[: self._table.rowCount()]):
            cells = [f"{count:,}"]
            for run in self._runs:
                is_known = 1 < count <= len(run.times_ns)
                cells.append(str(duration_quantity(run.gaps_ns[count - 2])) if is_known else "")
                known = count <= len(run.times_ns)
                cells.append(str(duration_quantity(run.times_ns[count - 1])) if known else "")
            for column, text in enumerate(cells):
                item = QTableWidgetItem(text)
                item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self._table.setItem(row, column, item)
        self._fit_table()

    def _make_table(self) -> QTableWidget:
        table = QTableWidget(0, 5, self)
        table.setAccessibleName(tr("The measured times as a table"))
        table.setHorizontalHeaderLabels(
            [
                tr("Token"),
                tr("with: each"),
                tr("with: so far"),
                tr("without: each"),
                tr("without: so far"),
            ]
        )
        table.verticalHeader().hide()
        table.setShowGrid(False)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        table.horizontalHeader().setDefaultAlignment(
            Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        )
        table.hide()
        return table

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        set_look(label, look)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        return label

    def _arrange(self) -> None:
        about = self._label("small")
        about.setText(
            tr(
                "Measures one answer twice on the loaded model: with the KV cache, and computing "
                "everything anew for each token. A chat goes first."
            )
        )
        controls = QHBoxLayout()
        controls.setSpacing(8)
        for widget in (self._length, self._start):
            controls.addWidget(widget)
        controls.addWidget(self._state, 1)
        key = QHBoxLayout()
        for run in self._runs:
            key.addWidget(RunKey(run, self._themes, self))
            key.addSpacing(16)
        key.addStretch(1)
        key.addWidget(self._as_table)
        charts = QHBoxLayout()
        charts.setSpacing(24)
        charts.addWidget(self._gaps)
        charts.addWidget(self._totals)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 20, 24, 24)
        column.setSpacing(12)
        column.addWidget(about)
        column.addLayout(controls)
        column.addWidget(self._progress)
        column.addLayout(charts)
        column.addLayout(key)
        column.addWidget(self._verdict)
        column.addWidget(self._table)
        column.addStretch(1)
        self._progress.hide()
        self.resize(self._themes.px(WIDTH), self.sizeHint().height())

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        if self._is_running:
            self.cancel_requested.emit()
        super().closeEvent(event)
