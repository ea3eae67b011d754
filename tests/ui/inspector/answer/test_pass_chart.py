"""A pass as a bar and columns."""

import pytest
from PySide6.QtCore import QRectF

from engine.api.profile import PassProfile
from tests.ui.inspector.answer.test_passes import PROFILE
from ui.inspector.answer.pass_chart import PassChart
from ui.inspector.answer.passes import decode_pass
from ui.theme import ThemeSource

AREA = QRectF(0, 0, 300, 200)


@pytest.fixture
def chart(qtbot):
    made = PassChart(ThemeSource())
    qtbot.addWidget(made)
    made.resize(300, 200)
    made.set_pass(decode_pass(PROFILE))
    made.show()
    return made


def test_widths_and_heights_are_to_scale(chart):
    boxes = dict(chart._boxes(AREA))
    assert boxes[0].width() == pytest.approx(0.7 * 300, abs=2)
    first, second = chart._columns(AREA)
    assert sum(b.height() for _g, b in first) == pytest.approx(64, abs=3)
    assert sum(b.height() for _g, b in second) == pytest.approx(32, abs=3)


def test_each_box_is_read_with_its_name_time_and_share(chart):
    lines = [spot.lines for spot in chart.spots(AREA)]
    assert ("7.00 ms (70.0%)", "FFN") in lines
    assert ("6.00 ms (60.0%)", "layer 0") in lines
    assert chart.accessibleDescription().endswith("70% of it FFN.")
    assert ("FFN", "7.00") in chart.table().rows


def test_it_is_as_high_as_what_it_shows(chart):
    high = chart.sizeHint().height()
    chart.grab()
    chart.set_pass(decode_pass(PassProfile(1, 1, 1, (), ())))
    chart.grab()
    assert chart.sizeHint().height() < high
