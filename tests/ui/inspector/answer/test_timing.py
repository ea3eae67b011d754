"""Lanes and list together."""

from PySide6.QtWidgets import QPushButton

from tests.helpers.observations import make_timeline
from ui.inspector.answer.lanes import pipeline_of
from ui.inspector.answer.timing import TimingSection
from ui.theme import ThemeSource


def test_the_list_points_at_a_lane_and_the_pointer_at_another_for_a_while(qtbot):
    section = TimingSection(ThemeSource())
    qtbot.addWidget(section)
    section.set_pipeline(pipeline_of(make_timeline()))
    section.show()
    section.list.selectRow(3)
    assert section.lanes._current == 3
    section.lanes.pointed.emit(1)
    assert section.lanes._current == 1
    section.lanes.pointed.emit(-1)
    assert section.lanes._current == 3


def test_the_axis_can_end_with_the_first_token(qtbot):
    section = TimingSection(ThemeSource())
    qtbot.addWidget(section)
    line = make_timeline()
    section.set_pipeline(pipeline_of(line))
    zoom = section.findChild(QPushButton)
    zoom.click()
    assert section.lanes.shown_ns == line.ttft_ns
    assert zoom.text() == "Whole answer"
    zoom.click()
    assert section.lanes.shown_ns == line.end_ns - line.sent_ns
