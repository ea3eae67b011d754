import pytest

from ui.meters.itl import RollingItl, percentile

MS = 1_000_000


def test_nothing_is_known_below_two_tokens():
    itl = RollingItl()
    assert itl.figures() is None
    assert itl.add([5 * MS]) == []
    assert itl.figures() is None
    assert itl.num_tokens == 1


def test_figures_of_a_steady_answer_with_one_stall():
    itl = RollingItl()
    gaps = [5 * MS] * 98 + [50 * MS, 4 * MS]
    times = [0]
    for gap in gaps:
        times.append(times[-1] + gap)
    assert itl.add(times) == gaps
    figures = itl.figures()
    assert figures is not None
    assert figures.now_ns == 4 * MS
    assert figures.p50_ns == 5 * MS
    assert figures.p95_ns == 5 * MS
    assert figures.max_ns == 50 * MS
    assert figures.tokens_per_s == pytest.approx(100 * 1e9 / sum(gaps))


def test_times_in_pieces_give_the_same_as_at_once():
    times = [n * n * MS for n in range(50)]
    whole, pieces = RollingItl(), RollingItl()
    whole.add(times)
    for start in range(0, 50, 7):
        pieces.add(times[start : start + 7])
    assert whole.figures() == pieces.figures()


def test_the_window_limits_percentiles_but_not_rate_and_maximum():
    itl = RollingItl(window=4)
    itl.add([0, 100 * MS, 101 * MS, 102 * MS, 103 * MS, 104 * MS])
    figures = itl.figures()
    assert figures is not None
    assert figures.p95_ns == MS
    assert figures.max_ns == 100 * MS
    assert figures.tokens_per_s == pytest.approx(5 / 0.104)


def test_clear_forgets_the_answer():
    itl = RollingItl()
    itl.add([0, MS, 2 * MS])
    itl.clear()
    assert itl.figures() is None
    assert itl.add([900 * MS]) == []


@pytest.mark.parametrize(("fraction", "value"), [(0, 1), (0.5, 2.5), (0.25, 1.75), (1, 4)])
def test_percentiles_interpolate_between_ranks(fraction, value):
    assert percentile([1, 2, 3, 4], fraction) == value


def test_tokens_of_one_step_make_the_mean_the_figure():
    itl = RollingItl()
    itl.add([0, 0, 30, 30, 30, 60, 60])
    figures = itl.figures()
    assert figures.is_shared
    assert figures.now_ns == 10
    itl.clear()
    itl.add([0, 10, 25])
    assert not itl.figures().is_shared
    assert itl.figures().now_ns == 15
