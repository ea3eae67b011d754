"""Drawings of gaps: what is on them, by pointer and by key."""

import pytest
from PySide6.QtCore import QRectF, Qt

from engine.api import Stall, StallCause
from tests.helpers.observations import MS
from ui.inspector.answer.gap_charts import GapSpread, GapTrace
from ui.inspector.answer.gaps import gaps_of
from ui.theme import ThemeSource

GAPS = [10 * MS] * 49 + [150 * MS] + [11 * MS] * 50
STALLS = [Stall(50, 0, 150 * MS, StallCause.PREFILL)]
AREA = QRectF(0, 0, 300, 150)


@pytest.fixture(params=[GapTrace, GapSpread])
def chart(qtbot, request):
    made = request.param(ThemeSource())
    qtbot.addWidget(made)
    made.resize(300, 150)
    made.show()
    return made


def test_without_gaps_it_says_so_and_paints(chart):
    chart.set_gaps(None)
    assert not chart.spots(AREA)
    assert chart.sentence == ""
    assert chart.table().rows == ()
    chart.grab()


def test_it_is_told_to_a_screen_reader_and_read_by_keys(chart, qtbot):
    chart.set_gaps(gaps_of(GAPS, STALLS))
    assert "the longest 150 ms" in chart.accessibleDescription()
    with qtbot.waitSignal(chart.pointed) as signal:
        qtbot.keyClick(chart, Qt.Key.Key_Right)
    assert "ms" in signal.args[0]
    chart.grab()


@pytest.mark.parametrize(("gap_ms", "unit"), [(10, "ms"), (5_000, "s")])
def test_the_unit_in_the_title_is_that_of_the_numbers(qtbot, monkeypatch, gap_ms, unit):
    chart = GapTrace(ThemeSource())
    qtbot.addWidget(chart)
    told = []
    monkeypatch.setattr(chart, "paint_title", lambda _painter, _area, unit: told.append(unit))
    chart.set_gaps(gaps_of([gap_ms * MS] * 20, ()))
    chart.grab()
    assert set(told) == {unit}


def test_a_long_answer_is_painted_with_few_strokes(chart):
    chart.set_gaps(gaps_of([10 * MS + n % 97 for n in range(10_000)], STALLS))
    assert len(chart.spots(AREA)) <= 140


def spots_of(kind, qtbot):
    chart = kind(ThemeSource())
    qtbot.addWidget(chart)
    chart.set_gaps(gaps_of(GAPS, STALLS))
    return [spot.lines for spot in chart.spots(AREA)]


def test_a_stall_is_read_with_its_cause(qtbot):
    spots = spots_of(GapTrace, qtbot)
    assert ("token 51: 150 ms, another prompt was computed",) in spots
    assert ("10.0 ms", "before token 2") in spots


def test_what_is_beyond_the_scale_has_a_bin_of_its_own(qtbot):
    spots = spots_of(GapSpread, qtbot)
    assert spots[-1] == ("1 gap (1.0%)", "15.0 ms and more")
    assert sum(int(lines[0].split()[0]) for lines in spots) == 100
