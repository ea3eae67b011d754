from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

from engine.api import Fit
from ui.settings.precision_lines import LossFigures, PrecisionLine
from ui.settings.precision_table import PrecisionTable
from ui.theme import DARK, ThemeSource

GIB = 1 << 30
LOSS = LossFigures(28.4, 992, 0.9345, 0.0056, 28.1)
LINES = (
    PrecisionLine("int4", "INT4", GIB, Fit.FITS, 210.0, replace(LOSS, is_bad=True)),
    PrecisionLine("int4-calibrated", "INT4 calibrated", GIB, Fit.FITS, making_s=240.0),
    PrecisionLine("int8", "INT8", GIB, Fit.TIGHT, 58.0, LOSS, is_recommended=True),
    PrecisionLine("fp32", "FP32", 99 * GIB, Fit.TOO_LARGE, is_reference=True),
)


@pytest.fixture
def table(qtbot):
    table = PrecisionTable(ThemeSource())
    qtbot.addWidget(table)
    table.set_lines(LINES, "int8")
    table.resize(264, table.heightForWidth(264))
    table.show()
    return table


def chosen(table):
    keys = []
    table.chosen.connect(keys.append)
    return keys


def test_a_row_says_verdict_speed_and_loss_in_words(table):
    loss = ["93.5% same token", "KL 0.006"]
    assert [row.texts for row in table.rows] == [
        ["INT4", "~1 GiB", "Fits", "~210 tokens/s at full context", *loss, "Loses noticeably"],
        ["INT4 calibrated", "~1 GiB", "Fits", "Loss not measured", "Made first, ~4 min, once"],
        ["INT8", "~1 GiB", "Barely fits", "~58 tokens/s at full context", *loss, "Recommended"],
        ["FP32", "~99 GiB", "Too large", "Exact"],
    ]
    assert table.rows[0].accessibleName().startswith("INT4, ~1 GiB, Fits")
    assert "perplexity 28.40" in table.rows[0].toolTip()


def test_showing_chooses_nothing(table):
    keys = chosen(table)
    table.set_lines(LINES, "int4")
    assert [row.isChecked() for row in table.rows] == [True, False, False, False]
    table.set_lines(LINES, "nothing")
    assert not any(row.isChecked() for row in table.rows)
    assert keys == []


def test_a_click_anywhere_in_a_row_chooses_it(table, qtbot):
    keys = chosen(table)
    row = table.rows[3]
    qtbot.mouseClick(row, Qt.MouseButton.LeftButton, pos=row.rect().bottomRight())
    assert keys == ["fp32"]
    assert row.isChecked()


def focus(row, qtbot):
    """Give a row the focus, which its window gets a moment after it asked for it."""
    row.window().activateWindow()
    row.setFocus()
    qtbot.waitUntil(row.hasFocus)


def test_the_arrow_keys_move_the_choice(table, qtbot):
    focus(table.rows[2], qtbot)
    keys = chosen(table)
    qtbot.keyClick(table.rows[2], Qt.Key.Key_Up)
    assert keys == ["int4-calibrated"]
    assert table.rows[1].isChecked()


def test_new_figures_keep_the_rows(table):
    before = table.rows
    table.set_lines([replace(line, num_bytes=2 * GIB) for line in LINES], "int8")
    assert table.rows == before
    assert before[0].texts[1] == "~2 GiB"
    table.set_lines(LINES[:1], "int4")
    assert len(table.rows) == 1


@pytest.mark.parametrize("width", [200, 228, 264, 480])
@pytest.mark.parametrize("zoom", [1.0, 2.0])
def test_every_word_has_its_room_at_every_width(table, width, zoom):
    table._themes.set(DARK, zoom)
    width = round(width * zoom)
    table.resize(width, table.heightForWidth(width))
    for row in table.rows:
        for label in (row._name, row._memory, row._fit, *row._remarks):
            words = label.fontMetrics().horizontalAdvance(max(label.text().split(), key=len))
            assert label.width() >= words
            place = label.mapTo(row, label.rect().bottomRight())
            assert row.rect().contains(place)


def test_the_verdicts_do_not_look_alike(table):
    table.set_lines([replace(LINES[1], fit=fit) for fit in Fit], "int8")
    icons = [row._icon.pixmap().toImage() for row in table.rows]
    assert icons[0] != icons[1] != icons[2] != icons[0]


def test_the_chosen_row_looks_chosen_and_a_focus_is_seen(table, qtbot):
    plain = table.rows[2].grab().toImage()
    table.set_lines(LINES, "int4")
    assert table.rows[2].grab().toImage() != plain
    focus(table.rows[2], qtbot)
    focused = table.rows[2].grab().toImage()
    focus(table.rows[1], qtbot)
    assert table.rows[2].grab().toImage() != focused
