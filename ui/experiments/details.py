"""One experiment: what it shows, run and stop, how far it is, its charts, and its past runs."""

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from ui.experiments.export import ExportButton
from ui.experiments.figures import Figures, words_label
from ui.experiments.past import PastRuns
from ui.experiments.rows import DepthRow, ExperimentRow, RunState, Shown
from ui.i18n import tr
from ui.theme import ThemeSource, set_look
from ui.widgets.calm_box import CalmComboBox
from ui.widgets.flow import FlowLayout

_STEPS = 1_000


class Details(QWidget):
    """Scrolls as a whole. ``run_requested`` carries how thorough."""

    run_requested = Signal(str)
    stop_requested = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._row = ExperimentRow("", "", "")
        self._state = RunState()
        self._depths: tuple[DepthRow, ...] = ()
        self._has_result = False
        self._title = words_label("title", self)
        self._line = words_label("muted", self)
        self.start = QPushButton(tr("Run"), self)
        set_look(self.start, "primary")
        self.start.clicked.connect(self._on_start)
        self.thoroughness = CalmComboBox(self)
        self.thoroughness.setAccessibleName(tr("How thorough"))
        self.thoroughness.currentIndexChanged.connect(self._on_depth)
        self._progress = QProgressBar(self)
        self._progress.setTextVisible(False)
        self._progress.setRange(0, _STEPS)
        self._progress.setAccessibleName(tr("Progress"))
        self._words = words_label("small", self)
        self._sentence = words_label("answer", self)
        self.figures = Figures(themes, self)
        self.as_table = QPushButton(tr("Show as a table"), self)
        set_look(self.as_table, "link-small")
        self.as_table.setCheckable(True)
        self.as_table.toggled.connect(self._on_table)
        self.export = ExportButton(self.figures, self)
        self._notes = words_label("small", self)
        self.past = PastRuns(themes, self)
        self._arrange()
        self.show_state(RunState())
        self.past.show_runs((), "", "")
        self.show_result(Shown())

    @property
    def stops(self) -> list[QWidget]:
        """Where the Tab key stops, top to bottom."""
        above = (self.start, self.thoroughness, *self.figures.stops)
        return [*above, self.as_table, self.export, *self.past.stops]

    # ------------------------------------------------------------------ what it is told

    def set_depths(self, rows: Sequence[DepthRow]) -> None:
        """Offer these; the one that was chosen stays so, else the first is."""
        if tuple(rows) == self._depths:  # a box that is open for choosing must stay so
            return
        self._depths = tuple(rows)
        chosen = self.thoroughness.currentData()
        with QSignalBlocker(self.thoroughness):
            self.thoroughness.clear()
            for row in rows:
                self.thoroughness.addItem(row.words, row.name)
            self.thoroughness.setCurrentIndex(max(0, self.thoroughness.findData(chosen)))
        self._on_depth()

    def show_experiment(self, row: ExperimentRow) -> None:
        """Begin with another experiment."""
        self._row = row
        self._title.setText(row.title)
        self._line.setText(row.line)
        self.show_state(self._state)

    def show_state(self, state: RunState) -> None:
        """What runs, and whether something can be started."""
        self._state = state
        is_mine = bool(state.running) and state.running == self._row.name
        self.start.setText(tr("Stop") if is_mine else tr("Run"))
        self.start.setEnabled(is_mine or not (state.running or state.reason))
        self.thoroughness.setEnabled(not state.running)
        self._progress.setVisible(is_mine)
        self._progress.setValue(round(_STEPS * state.part))
        note = "" if self._has_result else self._note  # beside a result it is in the way
        words = state.words if state.running else state.reason or note
        self._words.setText(words)
        self._words.setVisible(bool(words))

    def show_result(self, shown: Shown) -> None:
        """Show charts and words of one run or two."""
        self._has_result = bool(shown.figures)
        if self.figures.show_figures(shown):
            for one, other in pairwise(self.stops):  # charts come last where they are made
                QWidget.setTabOrder(one, other)
        self.export.set_name(shown.name)
        for label, words in ((self._sentence, shown.sentence), (self._notes, shown.notes)):
            label.setText(words)
            label.setVisible(bool(words))
        for widget in (self.figures, self.as_table, self.export):
            widget.setVisible(self._has_result)
        self.show_state(self._state)

    @property
    def _note(self) -> str:
        """What the time rests on that the chosen thoroughness takes."""
        place = self.thoroughness.currentIndex()
        return self._depths[place].note if 0 <= place < len(self._depths) else ""

    # ------------------------------------------------------------------ what the user does

    def _on_depth(self) -> None:
        self.thoroughness.setAccessibleDescription(self._note)
        self.thoroughness.setToolTip(self._note)
        self.show_state(self._state)

    def _on_start(self) -> None:
        if self._state.running:
            self.stop_requested.emit()
        else:
            self.run_requested.emit(self.thoroughness.currentData() or "")

    def _on_table(self, is_shown: bool) -> None:  # noqa: FBT001 - the signal's
        self.figures.show_tables(is_shown=is_shown)
        self.as_table.setText(tr("Hide the table") if is_shown else tr("Show as a table"))

    # ------------------------------------------------------------------ building

    def _arrange(self) -> None:
        controls = FlowLayout(8, 6)
        for widget in (self.start, self.thoroughness):
            controls.addWidget(widget)
        tools = QHBoxLayout()
        tools.addWidget(self.as_table)
        tools.addStretch(1)
        tools.addWidget(self.export)
        inside = QWidget(self)
        set_look(inside, "clear")
        column = QVBoxLayout(inside)
        column.setContentsMargins(24, 18, 24, 24)
        column.setSpacing(10)
        for above in (self._title, self._line):
            column.addWidget(above)
        column.addLayout(controls)
        for result in (self._progress, self._words, self._sentence, self._notes, self.figures):
            column.addWidget(result)
        column.addLayout(tools)
        column.addWidget(self.past)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(inside)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)
