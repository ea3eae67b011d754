import math

import pytest
from PySide6.QtCore import QRectF

from ui.charts.figures import RoofPoint
from ui.charts.roofline import RooflineChart, roof_sentence

POINTS = (
    RoofPoint("prefill", 200.0, 0.8e12, "stage_prefill"),
    RoofPoint("decode", 4.0, 60e9, "stage_decode"),
)
AREA = QRectF(0, 0, 400, 240)


@pytest.fixture
def chart(qtbot, themes):
    chart = RooflineChart(themes)
    qtbot.addWidget(chart)
    chart.resize(420, 240)
    chart.show()
    return chart


def test_points_lie_below_the_roof(chart):
    chart.set_figures(30e9, 1e12, POINTS)
    frame = chart._frame(AREA)
    ridge = frame.place(chart._ridge, 1e12)
    prefill, decode = (frame.place(p.intensity, p.flops_per_s) for p in POINTS)
    assert prefill.y() > ridge.y()
    assert decode.x() < ridge.x() < prefill.x()
    # one decade of intensity below the ridge is one decade of speed
    below = frame.place(chart._ridge / 10, 1e11)
    assert math.isclose(chart._roof_at(chart._ridge / 10), 1e11)
    assert below.y() > ridge.y()
    chart.grab()


def test_a_point_says_how_near_it_comes(chart):
    chart.set_figures(30e9, 1e12, POINTS)
    assert chart.spots(AREA)[1].lines == (
        "decode",
        "60 GFLOP/s",
        "4 FLOP/B",
        "50% of what is possible there",
    )
    assert "prefill: 80% of what is possible at 200 FLOP/B." in chart.accessibleDescription()
    assert chart.table().rows[-1] == ("computes", "", "1 TFLOP/s")


def test_unknown_ceilings_are_no_failure(chart):
    chart.set_figures(0.0, 0.0, POINTS)
    assert chart.spots(AREA) == ()
    chart.grab()
    assert roof_sentence(0.0, 0.0, ()) == "Nothing is measured yet."
    chart.set_figures(30e9, 1e12, (RoofPoint("none", 0.0, 0.0, "accent"),))
    assert chart.spots(AREA) == []
    chart.grab()
