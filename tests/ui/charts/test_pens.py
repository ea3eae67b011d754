from itertools import pairwise

import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFontMetricsF, QImage, QPainter

from ui.charts.pens import STROKES, Legend, paint_bar, paint_series_marker, stroke_of
from ui.theme import DARK, LIGHT, SMALL_FONT_PX


def painted(themes, paint):
    image = QImage(40, 40, QImage.Format.Format_RGB32)
    image.fill(themes.color("background"))
    painter = QPainter(image)
    paint(painter)
    painter.end()
    return image.convertToFormat(QImage.Format.Format_Grayscale8)


def darkness(image):
    return {image.pixelColor(x, y).value() for x in range(40) for y in range(40)}


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("is_hollow", [False, True])
def test_every_marker_is_seen_in_both_themes(themes, theme, is_hollow):
    themes.set(theme, 2.0)
    for stroke in STROKES:
        image = painted(
            themes,
            lambda p, s=stroke: paint_series_marker(
                p, s, QPointF(20, 20), themes, is_hollow=is_hollow
            ),
        )
        assert len(darkness(image)) > 1, stroke


@pytest.mark.usefixtures("qapp")
def test_bars_differ_without_their_colours(themes):
    box = QRectF(2, 2, 36, 36)
    images = [painted(themes, lambda p, s=s: paint_bar(p, s, box, themes)) for s in STROKES]
    assert all(one != other for one, other in pairwise(images))
    assert len({(stroke.marker, stroke.dashes) for stroke in STROKES}) == len(STROKES)
    assert stroke_of(len(STROKES)) is STROKES[0]


@pytest.mark.usefixtures("qapp")
def test_a_legend_wraps_and_one_name_needs_none(themes):
    metrics = QFontMetricsF(themes.font(SMALL_FONT_PX))
    legend = Legend(themes, metrics, is_bars=False)
    names = ["with the cache", "without the cache"]
    wide, narrow = legend.height(names, 600.0), legend.height(names, 150.0)
    assert narrow == pytest.approx(2 * wide)
    assert legend.height(names[:1], 600.0) == 0.0
