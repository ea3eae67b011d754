"""A page with two experiments, and a result to show."""

import pytest

from ui.charts.figures import (
    Axis,
    Bar,
    BarFigure,
    BarSeries,
    Kind,
    LineFigure,
    Point,
    Series,
    Table,
)
from ui.experiments.page import ExperimentsPage
from ui.experiments.rows import DepthRow, ExperimentRow, Shown
from ui.theme import ThemeSource

ROWS = (
    ExperimentRow("cache", "What is the cache for?", "The same answer twice."),
    ExperimentRow("prompt", "Long prompts", "The time to the first token."),
)
DEPTHS = (DepthRow("quick", "Quick"), DepthRow("full", "Thorough"))


@pytest.fixture
def themes():
    return ThemeSource()


@pytest.fixture
def page(qtbot, themes):
    page = ExperimentsPage(themes)
    qtbot.addWidget(page)
    page.resize(1000, 700)
    page.set_experiments(ROWS, DEPTHS)
    page.show()
    return page


@pytest.fixture
def shown():
    line = LineFigure(
        "Time of each token",
        Axis("Token", Kind.COUNT),
        Axis("Time", Kind.DURATION),
        (Series("", (Point(1.0, 5.0), Point(2.0, 6.0))),),
        "It grows.",
    )
    bars = BarFigure("Speed", Axis("Speed", Kind.RATE), ("INT4",), (BarSeries("", (Bar(9.0),)),))
    return Shown("20261130-cache", (line, bars), "It grows.", "Small model")


@pytest.fixture
def differences():
    cells = (("Time", "1", "5.0 ms", "6.0 ms", "+20.0%"),)
    return Table(("What", "Where", "A", "B", "Change"), cells, cells)
