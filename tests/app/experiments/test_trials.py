import pytest

from app.experiments.trials import Ask, EngineTrial, number_in, rate_of

MS = 1_000_000


def test_recomputing_costs_the_square():
    short, long = (EngineTrial("", 0.0, (Ask(1, n, kv_cache=False),)) for n in (100, 200))
    assert 3.8 < long.cost / short.cost < 4.1
    with_cache = [EngineTrial("", 0.0, (Ask(1, n),)).cost for n in (100, 200)]
    assert with_cache[1] / with_cache[0] < 2.1


def test_speed_counts_from_the_moment_all_have_begun():
    early = [0, 10 * MS, 20 * MS, 30 * MS]
    late = [10 * MS, 20 * MS, 30 * MS]
    assert rate_of([early, late]) == pytest.approx(4 * 1e9 / (20 * MS))
    assert rate_of([early, []]) is None
    assert rate_of([]) is None
    assert rate_of([[5]]) is None


def test_numbers_are_found_by_name_and_nothing_else_is():
    printed = {"a": {"b": 1, "c": True, "d": "x"}}
    assert number_in(printed, "a", "b") == 1.0
    assert number_in(printed, "a", "c") is None
    assert number_in(printed, "a", "d") is None
    assert number_in(printed, "a", "b", "e") is None
    assert number_in(printed, "z") is None
