import pytest

from ui.meters.trace import CAPACITY, ItlTrace, nice_ceiling, scale_for
from ui.theme import ThemeSource

MS = 1_000_000


@pytest.fixture
def trace(qtbot):
    trace = ItlTrace(ThemeSource())
    qtbot.addWidget(trace)
    trace.resize(264, 56)
    return trace


@pytest.mark.parametrize(
    ("value", "ceiling"), [(0.05, 0.1), (1, 1), (1.2, 1.5), (11, 15), (30.1, 50), (700, 800)]
)
def test_ceilings_are_round(value, ceiling):
    assert nice_ceiling(value * MS) == pytest.approx(ceiling * MS)


def test_ordinary_gaps_decide_the_scale_and_a_stall_does_not():
    steady = [5 * MS] * 50
    scale = scale_for(steady, MS)
    assert scale == 10 * MS
    assert scale_for([*steady, 900 * MS], scale) == pytest.approx(30 * MS)


def test_the_scale_stays_calm():
    assert scale_for([5 * MS] * 10, 20 * MS) == 20 * MS
    assert scale_for([5 * MS] * 10, 100 * MS) == 10 * MS
    assert scale_for([], 7.0) == 7.0
    assert scale_for([0] * 90 + [20 * MS] * 10, MS) == scale_for([20 * MS] * 10, MS)


def test_a_stall_is_kept_in_sight(trace):
    trace.add([5 * MS] * 50 + [900 * MS])
    assert trace.stalls() == [900 * MS]
    trace.add([5 * MS] * CAPACITY)
    assert trace.stalls() == []


def test_it_paints_with_and_without_gaps(trace):
    empty = trace.grab().toImage()
    trace.add([5 * MS] * 50 + [900 * MS])
    assert trace.grab().toImage() != empty
    trace.clear()
    assert trace.grab().toImage() == empty


def test_a_line_that_grew_is_the_line_drawn_at_once(qtbot, trace):
    gaps = [(5 + n % 3) * MS for n in range(CAPACITY + 100)]
    gaps[200], gaps[330] = 900 * MS, 40 * MS
    for start in range(0, len(gaps), 7):
        trace.add(gaps[start : start + 7])
        grown = trace.grab().toImage()
    whole = ItlTrace(ThemeSource())
    qtbot.addWidget(whole)
    whole.resize(trace.size())
    whole._ceiling = trace.ceiling_ns
    whole.add(gaps)
    assert whole.grab().toImage() == grown
    trace.resize(180, 56)
    whole.resize(180, 56)
    assert whole.grab().toImage() == trace.grab().toImage()
