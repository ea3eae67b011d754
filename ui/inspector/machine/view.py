"""The Machine view: memory, budgets, the roofline, and what the machine did.

Shows pictures that its controller makes; asks nobody.
"""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from engine.api import Device, EngineStats
from ui.charts.figures import Table
from ui.charts.roofline import RooflineChart
from ui.i18n import tr
from ui.inspector.fact_grid import FactGrid
from ui.inspector.machine.budget import BudgetRow
from ui.inspector.machine.doing import doing_rows
from ui.inspector.machine.memory import MemoryPanel
from ui.inspector.machine.picture import (
    MachinePicture,
    card_parts,
    memory_parts,
    used_bytes,
)
from ui.inspector.machine.roof import (
    ceiling_table,
    chart_points,
    measured_words,
    roof_of,
    stage_sentences,
    stage_table,
)
from ui.inspector.reload_bar import ReloadBar
from ui.theme import ThemeSource, set_look
from ui.widgets.units import bytes_quantity

MARGIN = 18
_BETWEEN = 22
_MOST_MIB = 1_048_576


class MachineView(QWidget):
    """Signals say what a person wants; budgets are in MiB."""

    measure_requested = Signal()
    reload_requested = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._memory = MemoryPanel(tr("Memory"), themes, self)
        self._card = MemoryPanel(tr("Graphics card"), themes, self)
        self.kv_budget = BudgetRow(tr("KV cache budget"), 16, _MOST_MIB, 64, self)
        self.gpu_budget = BudgetRow(tr("GPU memory budget"), 256, _MOST_MIB, 256, self)
        self._reload = ReloadBar(self)
        self._reload.reload_requested.connect(self.reload_requested)
        self._roof_title = self._label("heading", tr("Roofline"))
        self._chart = RooflineChart(themes, self)
        self._sentences = self._label("small")
        self._stages = FactGrid(tr("Stages of the answer below the ceilings"), self)
        self._ceilings = FactGrid(tr("This machine's measured ceilings"), self)
        self._measured = self._label("small")
        self.measure = QPushButton(self)
        self.measure.clicked.connect(self.measure_requested)
        self._progress = QProgressBar(self)
        self._progress.setRange(0, 0)
        self._progress.setTextVisible(False)
        self._progress.setAccessibleName(tr("Measuring this machine"))
        self._problem = self._label("danger-small")
        self._doing_title = self._label("heading", tr("What the machine did meanwhile"))
        self._doing = FactGrid(self._doing_title.text(), self)
        self._no_answer = self._label(
            "small", tr("Ask something: where its stages lie is shown here.")
        )
        self._arrange()
        self.set_picture(MachinePicture())

    # ------------------------------------------------------------------ what it is told

    def set_picture(self, picture: MachinePicture) -> None:
        """Show a picture."""
        self._show_memory(picture)
        self._show_roof(picture)
        self._show_measuring(picture)
        self._show_doing(picture)
        has_model = picture.info is not None
        self.kv_budget.setVisible(has_model)
        is_cuda = picture.info is not None and picture.info.device is Device.CUDA
        self.gpu_budget.setVisible(is_cuda)
        self._reload.set_needed(needed=picture.needs_reload)

    @property
    def texts(self) -> list[str]:
        """What is written in it."""
        labels = self.findChildren(QLabel)
        return [label.text() for label in labels if label.text() and label.isVisibleTo(self)]

    @property
    def chart(self) -> RooflineChart:
        """The roofline."""
        return self._chart

    # ------------------------------------------------------------------ showing

    def _show_memory(self, picture: MachinePicture) -> None:
        stats = picture.stats
        self._memory.setVisible(stats is not None)
        card = None if stats is None else stats.gpu
        self._card.setVisible(card is not None)
        if stats is None:
            return
        device = Device.CPU if picture.info is None else picture.info.device
        note = "" if device is Device.CUDA else _reserve_words(stats)
        self._memory.set_parts(memory_parts(stats, device), note)
        if card is not None:
            self._card.set_parts(card_parts(stats, card), _reserve_words(stats))

    def _show_roof(self, picture: MachinePicture) -> None:
        report, ceilings = picture.report, picture.ceilings
        line = None if report is None else report.roofline
        self._chart.set_figures(*roof_of(picture), chart_points(line))
        has_chart = line is not None or ceilings is not None
        self._chart.setVisible(has_chart)
        self._roof_title.setVisible(not has_chart)  # the chart has its own
        words = [] if line is None else stage_sentences(line)
        self._sentences.setText("\n".join(words))
        self._sentences.setVisible(bool(words))
        self._no_answer.setVisible(line is None and ceilings is not None)
        self._stages.setVisible(line is not None)
        if line is not None:
            self._stages.set_table(stage_table(line))
        self._ceilings.setVisible(ceilings is not None)
        if ceilings is not None:
            self._ceilings.set_table(ceiling_table(ceilings))

    def _show_measuring(self, picture: MachinePicture) -> None:
        is_first = picture.ceilings is None
        self._measured.setText(measured_words(picture))
        self.measure.setText(
            tr("Measure this machine (~20 s)") if is_first else tr("Measure again (~20 s)")
        )
        is_doubtful = is_first or picture.is_old or picture.is_exceeded
        set_look(self.measure, "" if is_doubtful else "quiet")
        self.measure.setVisible(not picture.is_measuring)
        self._progress.setVisible(picture.is_measuring)
        self._problem.setText(picture.problem)
        self._problem.setVisible(bool(picture.problem))

    def _show_doing(self, picture: MachinePicture) -> None:
        use = None if picture.report is None else picture.report.machine
        for widget in (self._doing_title, self._doing):
            widget.setVisible(use is not None)
        if use is not None:
            rows = tuple(doing_rows(use))
            self._doing.set_table(Table(("", tr("During this answer")), rows, rows))

    # ------------------------------------------------------------------ building

    def _label(self, look: str, text: str = "") -> QLabel:
        label = QLabel(text, self)
        set_look(label, look)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        return label

    def _arrange(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, 16, MARGIN, 24)
        column.setSpacing(8)
        groups = (
            (self._memory, self._card),
            (self.kv_budget, self.gpu_budget, self._reload),
            (
                self._roof_title,
                self._chart,
                self._no_answer,
                self._sentences,
                self._stages,
                self._ceilings,
                self._measured,
                self.measure,
                self._progress,
                self._problem,
            ),
            (self._doing_title, self._doing),
        )
        for number, group in enumerate(groups):
            if number:
                column.addSpacing(_BETWEEN - column.spacing())
            for widget in group:
                column.addWidget(widget)
        column.setAlignment(self.measure, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)


def _reserve_words(stats: EngineStats) -> str:
    """The cache as it is set aside, which on a CPU becomes memory only as it is written."""
    if not stats.kv_allocated_bytes:
        return ""
    return tr(
        "The KV cache may take {all}; {used} of it hold something.",
        all=bytes_quantity(stats.kv_allocated_bytes),
        used=bytes_quantity(used_bytes(stats)),
    )
