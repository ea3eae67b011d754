from statistics import median

from hypothesis import given
from hypothesis import strategies as st

from app.experiments.spread import binned, curve, ratio, series_of, unrest
from app.experiments.trials import Reading

NUMBERS = st.floats(-1e9, 1e9)


@given(st.lists(st.tuples(st.integers(0, 3), NUMBERS), min_size=1))
def test_repeats_become_one_point_between_their_ends(measured):
    readings = [Reading("s", float(x), {"m": value}) for x, value in measured]
    spreads = curve(readings, "s", "m")
    assert [s.x for s in spreads] == sorted({float(x) for x, _v in measured})
    for spread in spreads:
        values = [value for x, value in measured if float(x) == spread.x]
        assert (spread.low, spread.middle, spread.high) == (
            min(values),
            median(values),
            max(values),
        )


def test_other_series_and_metrics_stay_out():
    readings = [Reading("a", 1.0, {"m": 1.0}), Reading("b", 1.0, {"m": 2.0, "n": 3.0})]
    assert series_of(readings) == ("a", "b")
    assert [s.middle for s in curve(readings, "b", "m")] == [2.0]
    assert curve(readings, "a", "n") == ()


def test_the_place_may_be_what_was_measured():
    readings = [Reading("a", 64.0, {"m": 1.0, "tokens": t}) for t in (66.0, 70.0)]
    assert curve(readings, "a", "m", "tokens")[0].x == 68.0


@given(st.lists(NUMBERS, max_size=300), st.integers(1, 50))
def test_bins_are_few_and_in_order(values, most):
    points = binned(values, most)
    assert len(points) <= most
    places = [place for place, _value in points]
    assert places == sorted(places)
    assert all(min(values) <= value <= max(values) for _place, value in points)


def test_repeats_that_lie_apart_are_told_from_those_that_do_not():
    calm = [Reading("a", x, {"m": v}) for x in (1.0, 2.0) for v in (10.0, 10.5)]
    busy = [Reading("a", x, {"m": v}) for x in (1.0, 2.0) for v in (10.0, 30.0)]
    assert unrest(calm, "m") < 0.06
    assert unrest(busy, "m") > 0.9
    assert unrest([Reading("a", 1.0, {"m": 1.0})], "m") == 0.0


def test_nothing_is_divided_by_nothing():
    assert ratio(1.0, 0.0) == 0.0
    assert ratio(3.0, 2.0) == 1.5
