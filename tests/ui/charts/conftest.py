"""Figures to paint, and the window's look."""

import pytest

from ui.charts.figures import Axis, Kind, LineFigure, Point, Series
from ui.theme import ThemeSource


@pytest.fixture
def themes():
    return ThemeSource()


@pytest.fixture
def two_lines():
    kept = tuple(Point(float(x), 7.0 + x / 100) for x in range(1, 65, 7))
    anew = tuple(Point(float(x), 7.0 + x, 6.0 + x, 9.0 + x) for x in range(1, 65, 7))
    return LineFigure(
        "Time of each token",
        Axis("Token", Kind.COUNT),
        Axis("Time", Kind.DURATION),
        (Series("with the cache", kept), Series("without the cache", anew)),
        "Without, it takes longer.",
    )
