"""The table of stages."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

from tests.helpers.observations import MS, make_timeline
from ui.inspector.answer.lanes import pipeline_of
from ui.inspector.answer.stage_list import StageList
from ui.theme import ThemeSource

LINE = make_timeline(queue=50, prefill=100, decode=1_000, prompt=100)


@pytest.fixture
def stages(qtbot):
    made = StageList(ThemeSource())
    qtbot.addWidget(made)
    made.resize(400, 300)
    made.set_pipeline(pipeline_of(LINE))
    made.show()
    return made


def texts(stages, row):
    return [stages.item(row, column).text() for column in range(4)]


def test_rows_say_start_time_and_share_and_end_with_the_whole(stages):
    assert texts(stages, 3) == ["prefill", "52.00", "100.00", "8.7%"]
    assert texts(stages, stages.rowCount() - 1) == ["whole answer", "", "1,154.00", "100.0%"]
    said = stages.item(3, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert said == "prefill: 100.00 ms, 8.7%"


def test_a_chosen_row_names_its_lane_and_stays_chosen(stages, qtbot):
    told = []
    stages.chosen.connect(told.append)
    stages.setFocus()
    qtbot.keyClick(stages, Qt.Key.Key_Down)
    stages.selectRow(3)
    stages.set_pipeline(pipeline_of(replace(LINE, text_end_ns=LINE.end_ns + MS)))
    assert told[-1] == 3
    assert stages.selectionModel().selectedRows()[0].row() == 3
    stages.selectRow(stages.rowCount() - 1)
    assert told[-1] == -1


def test_a_narrow_list_leaves_out_where_stages_began(stages):
    assert not stages.isColumnHidden(1)
    stages.resize(240, 300)
    assert stages.isColumnHidden(1)


def test_all_rows_are_seen_without_scrolling(stages):
    rows = stages.verticalHeader().length() + stages.horizontalHeader().height()
    assert stages.height() >= rows
