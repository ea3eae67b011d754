import pytest
from PySide6.QtCore import QRectF

from ui.charts.bars import BarChart
from ui.charts.figures import Axis, Bar, BarFigure, BarSeries, Kind

FIGURE = BarFigure(
    "Speed",
    Axis("Speed", Kind.RATE),
    ("INT4", "FP32"),
    (
        BarSeries("without", (Bar(100.0, 90.0, 110.0), Bar(25.0))),
        BarSeries("with", (Bar(200.0), None), is_calculated=True),
    ),
    "INT4 is faster.",
)


@pytest.fixture
def chart(qtbot, themes):
    chart = BarChart(themes)
    qtbot.addWidget(chart)
    chart.set_figure(FIGURE)
    chart.resize(420, chart.sizeHint().height())
    chart.show()
    return chart


def test_lengths_are_the_values(chart):
    boxes = {(s, c): box for s, c, _bar, box in chart._boxes(QRectF(0, 0, 400, 200))}
    assert boxes[0, 0].width() == pytest.approx(4 * boxes[0, 1].width())
    assert boxes[1, 0].width() == pytest.approx(2 * boxes[0, 0].width())
    assert (1, 1) not in boxes


def test_every_bar_can_be_read(chart):
    lines = [spot.lines for spot in chart.spots(QRectF(0, 0, 400, 200))]
    assert lines == [
        ("100 tok/s", "INT4", "without", "90.0 tok/s to 110 tok/s"),
        ("~200 tok/s", "INT4", "with"),
        ("25.0 tok/s", "FP32", "without"),
    ]
    chart.grab()


def test_it_is_as_high_as_its_bars(chart):
    short = chart.sizeHint().height()
    more = tuple(f"kind {n}" for n in range(6))
    bars = BarSeries("without", tuple(Bar(float(n + 1)) for n in range(6)))
    chart.set_figure(BarFigure("Speed", FIGURE.value, more, (bars,)))
    assert chart.sizeHint().height() > short
    assert chart.accessibleDescription() == ""


def test_without_values_it_says_so(qtbot, themes):
    chart = BarChart(themes)
    qtbot.addWidget(chart)
    chart.grab()
    assert chart.spots(QRectF(0, 0, 300, 100)) == []
