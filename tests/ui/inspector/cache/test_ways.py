"""Rows of other caches, and the button that chooses one."""

import pytest
from PySide6.QtCore import Qt

from ui.inspector.cache.ways import WayRows


@pytest.fixture
def ways(qtbot, themes, picture):
    made = WayRows(themes)
    qtbot.addWidget(made)
    made.set_uses(picture.ways)
    made.show()
    return made


def test_rows_say_what_each_would_take(ways):
    assert [row.text for row in ways.rows] == [
        "FP32 56 MiB",
        "INT8, as it is now 14 MiB",
        "INT4, chosen for the next load 8 MiB",
        "Without shared heads 42 MiB If every head of the model kept a key and a value of its own.",
    ]


def test_what_is_a_setting_can_be_used(qtbot, ways):
    assert [row.button.isVisible() for row in ways.rows] == [True, False, False, False]
    with qtbot.waitSignal(ways.used) as told:
        qtbot.mouseClick(ways.rows[0].button, Qt.MouseButton.LeftButton)
    assert told.args == ["fp32"]


def test_fewer_ways_have_fewer_rows(ways, picture):
    ways.set_uses(picture.ways[:2])
    assert len(ways.rows) == 2
    ways.set_uses(())
    assert ways.rows == []
