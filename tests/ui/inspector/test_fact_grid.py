"""A small table of words."""

import pytest
from PySide6.QtWidgets import QLabel

from ui.charts.figures import Table
from ui.inspector.fact_grid import FactGrid

ROWS = (("Reading weights", "21 GB/s"), ("Products, INT8", "400 GFLOP/s"))
TABLE = Table(("Ceiling", "Measured"), ROWS, ROWS)


@pytest.fixture
def grid(qtbot):
    made = FactGrid("Ceilings")
    qtbot.addWidget(made)
    made.set_table(TABLE)
    made.show()
    return made


def _words(grid):
    return [label.text() for label in grid.findChildren(QLabel) if label.isVisible()]


def test_all_cells_are_written_and_spoken(grid):
    assert grid.rows[0] == ["Ceiling", "Measured"]
    assert _words(grid) == [cell for row in grid.rows for cell in row]
    assert grid.accessibleName() == "Ceilings"
    assert "Products, INT8, 400 GFLOP/s" in grid.accessibleDescription()


def test_fewer_rows(grid):
    grid.set_table(Table(TABLE.headings, ROWS[:1], ROWS[:1]))
    assert _words(grid) == ["Ceiling", "Measured", *ROWS[0]]
    grid.set_table(TABLE)
    assert len(_words(grid)) == 6


def test_names_wrap_and_figures_are_never_cut(grid):
    grid.resize(grid.minimumSizeHint())
    for label in grid.findChildren(QLabel):
        assert label.wordWrap() or label.width() >= label.sizeHint().width()
