from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QImage

from ui.charts.lines import LineChart
from ui.theme import DARK, LIGHT


@pytest.fixture
def chart(qtbot, themes, two_lines):
    chart = LineChart(themes)
    qtbot.addWidget(chart)
    chart.set_figure(two_lines)
    chart.resize(420, 240)
    chart.show()
    return chart


def test_a_screen_reader_hears_the_title_and_the_sentence(chart):
    assert chart.accessibleName() == "Time of each token"
    assert chart.accessibleDescription() == "Without, it takes longer."


def test_the_pointer_reads_the_nearest_point(qtbot, chart):
    spot = chart.spots(QRectF(chart.rect()).adjusted(3, 3, -3, -3))[3]
    with qtbot.waitSignal(chart.pointed) as told:
        qtbot.mouseMove(chart, QPoint(round(spot.at.x()), round(spot.at.y()) + 4))
    assert told.args == ["7.2 ms · with the cache · Token: 22"]
    chart.grab()
    with qtbot.waitSignal(chart.pointed) as told:
        qtbot.mouseMove(chart, QPoint(chart.width() - 2, chart.height() - 2))
    assert told.args == [""]


def test_the_arrow_keys_read_every_point(qtbot, chart):
    heard = []
    chart.pointed.connect(heard.append)
    for _ in range(20):
        qtbot.keyClick(chart, Qt.Key.Key_Right)
    qtbot.keyClick(chart, Qt.Key.Key_Left)
    assert heard[0] == "7.0 ms · with the cache · Token: 1"
    assert len(set(heard)) == 20
    assert heard[-1] == heard[18]
    assert heard[10].endswith("7.0 ms to 10.0 ms")
    assert chart.accessibleDescription() == heard[-1]
    qtbot.keyClick(chart, Qt.Key.Key_Escape)
    assert chart.accessibleDescription() == "Without, it takes longer."
    assert heard[-1] == ""


def test_series_differ_without_their_colours(chart, themes):
    """A grey copy of the picture still has two kinds of line."""
    one = LineChart(themes)
    figure = chart._figure
    one.set_figure(replace(figure, series=(figure.series[1], figure.series[0])))
    one.resize(chart.size())
    grey = [c.image().convertToFormat(QImage.Format.Format_Grayscale8) for c in (chart, one)]
    assert grey[0] != grey[1]
    one.deleteLater()


def test_an_empty_figure_says_that_nothing_is_measured(qtbot, themes, two_lines):
    chart = LineChart(themes)
    qtbot.addWidget(chart)
    chart.set_figure(replace(two_lines, series=()))
    assert chart.spots(QRectF(0, 0, 400, 200)) == ()
    chart.grab()


def test_it_is_written_as_a_picture_and_as_a_drawing(chart, tmp_path):
    picture, drawing = tmp_path / "a.png", tmp_path / "a.svg"
    chart.write_png(picture)
    chart.write_svg(drawing)
    image = QImage(str(picture))
    assert (image.width(), image.height()) == (2 * chart.width(), 2 * chart.height())
    root = ET.parse(drawing).getroot()
    assert "Time of each token" in "".join(root.itertext())
    with pytest.raises(OSError, match="missing"):
        chart.write_svg(Path("/missing/a.svg"))
    with pytest.raises(OSError, match="missing"):
        chart.write_png(Path("/missing/a.png"))


def test_it_follows_the_theme(chart, themes):
    themes.set(LIGHT, 1.0)
    light = chart.image()
    themes.set(DARK, 2.0)
    assert chart.image() != light
    assert chart.sizeHint().height() == 480
