"""The charts of a run in a grid, the sentence below, the table behind each, and their export."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from ui.charts.bars import BarChart
from ui.charts.chart import Chart
from ui.charts.chart_table import ChartTable
from ui.charts.figures import BarFigure, LineFigure
from ui.charts.lines import LineChart
from ui.charts.tables import csv_text
from ui.experiments.rows import Figure, Shown
from ui.i18n import tr
from ui.theme import ThemeSource, set_look

_TWO_COLUMNS = 640
_GAP = 24


class Figures(QWidget):
    """Two charts side by side where there is room, else one under the other."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._shown = Shown()
        self._charts: list[Chart] = []
        self._tables: list[tuple[QLabel, ChartTable]] = []
        self._has_tables = False
        self._columns = 1
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(_GAP)
        self._below = QVBoxLayout()
        self._below.setSpacing(4)
        self._differences = ChartTable(tr("What differs between the two runs"), self)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addLayout(self._grid)
        column.addWidget(self._differences)
        column.addLayout(self._below)
        self._differences.hide()
        themes.changed.connect(self._on_theme)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The charts in order."""
        return tuple(self._charts)

    @property
    def stops(self) -> list[QWidget]:
        """Where the Tab key stops, in order."""
        return [*self._charts, self._differences, *(table for _title, table in self._tables)]

    def show_figures(self, shown: Shown) -> bool:
        """Show these; widgets of the same kind are used again. Whether new ones were made."""
        if shown == self._shown:
            return False
        kinds = [isinstance(f, BarFigure) for f in shown.figures]
        are_new = kinds != [isinstance(chart, BarChart) for chart in self._charts]
        if are_new:
            self._make_charts(shown.figures)
        self._shown = shown
        for chart, figure in zip(self._charts, shown.figures, strict=True):
            _set_figure(chart, figure)
        self._differences.setVisible(shown.differences is not None)
        if shown.differences is not None:
            self._differences.set_table(shown.differences)
        self._fill_tables()
        return are_new

    def show_tables(self, *, is_shown: bool) -> None:
        """Show the values as tables, too."""
        self._has_tables = is_shown
        self._fill_tables()

    # ------------------------------------------------------------------ export

    def csv(self) -> str:
        """All values, and what differs."""
        tables = [(chart.title, chart.table()) for chart in self._charts]
        if self._shown.differences is not None:
            tables.append((tr("What differs between the two runs"), self._shown.differences))
        return csv_text(tables)

    def files_for(self, path: Path) -> list[tuple[Chart, Path]]:
        """Where each chart would be written: ``path`` itself, and numbered ones beside it."""
        if len(self._charts) == 1:
            return [(self._charts[0], path)]
        return [
            (chart, path.with_name(f"{path.stem}-{number}{path.suffix}"))
            for number, chart in enumerate(self._charts, 1)
        ]

    # ------------------------------------------------------------------ inside

    def _make_charts(self, figures: Sequence[Figure]) -> None:
        gone: list[QWidget] = [*self._charts]
        for pair in self._tables:
            gone += pair
        for widget in gone:
            widget.hide()
            widget.setParent(None)
            widget.deleteLater()
        self._charts, self._tables = [], []
        for figure in figures:
            is_bars = isinstance(figure, BarFigure)
            chart = BarChart(self._themes, self) if is_bars else LineChart(self._themes, self)
            self._charts.append(chart)
            title = QLabel(figure.title, self)
            set_look(title, "small")
            table = ChartTable(figure.title, self)
            self._tables.append((title, table))
            self._below.addWidget(title)
            self._below.addWidget(table)
        self._arrange()

    def _fill_tables(self) -> None:
        for chart, (title, table) in zip(self._charts, self._tables, strict=True):
            title.setVisible(self._has_tables)
            table.setVisible(self._has_tables)
            if self._has_tables:
                title.setText(chart.title)
                table.set_table(chart.table())

    def _arrange(self) -> None:
        for number, chart in enumerate(self._charts):
            self._grid.removeWidget(chart)
            row, place = divmod(number, self._columns)
            self._grid.addWidget(chart, row, place, Qt.AlignmentFlag.AlignTop)
            chart.show()
        for place in range(2):
            self._grid.setColumnStretch(place, int(place < self._columns))

    def _turn(self) -> None:
        columns = 2 if self.width() >= self._themes.px(_TWO_COLUMNS) else 1
        if columns != self._columns:
            self._columns = columns
            self._arrange()

    def _on_theme(self) -> None:
        self._turn()
        for _title, table in self._tables:
            table.fit()
        self._differences.fit()

    @override
    def minimumSizeHint(self) -> QSize:
        # two charts side by side must not keep the page from becoming narrow
        return QSize(self._themes.px(200), super().minimumSizeHint().height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._turn()


def _set_figure(chart: Chart, figure: Figure) -> None:
    match chart, figure:
        case BarChart(), BarFigure():
            chart.set_figure(figure)
        case LineChart(), LineFigure():
            chart.set_figure(figure)
        case _:
            pass


def words_label(look: str, parent: QWidget) -> QLabel:
    """A label whose words wrap and can be selected."""
    label = QLabel(parent)
    set_look(label, look)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    label.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse
        | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return label
