import math

from hypothesis import given
from hypothesis import strategies as st

from ui.charts.spans import Span, doubling_ticks, nice_step, span_of, ticks_of

NUMBERS = st.floats(min_value=1e-6, max_value=1e12)


def test_a_linear_span_begins_at_zero_and_ends_round():
    assert span_of([3.0, 97.0], is_log=False) == Span(0.0, 100.0)
    assert span_of([], is_log=False).high == 1.0
    assert span_of([], is_log=True) == Span(1.0, 10.0, is_log=True)


def test_places_are_even_in_the_logarithm():
    span = Span(1.0, 100.0, is_log=True)
    assert math.isclose(span.part(10.0), 0.5)
    assert Span(0.0, 50.0).part(25.0) == 0.5


@given(st.lists(NUMBERS, min_size=1, max_size=20), st.booleans())
def test_every_value_lies_inside_its_span(values, is_log):
    span = span_of(values, is_log=is_log)
    assert all(-1e-9 <= span.part(value) <= 1 + 1e-9 for value in values)


@given(NUMBERS, NUMBERS, st.integers(2, 12), st.booleans())
def test_ticks_are_inside_in_order_and_not_too_many(one, other, most, is_log):
    span = span_of([one, other], is_log=is_log, from_zero=False)
    ticks = ticks_of(span, most)
    assert ticks == sorted(ticks)
    assert len(ticks) <= most + 1
    assert all(-0.01 <= span.part(tick) <= 1.01 for tick in ticks)


@given(NUMBERS, st.integers(1, 20))
def test_a_step_is_one_two_or_five_with_zeros(length, most):
    step = nice_step(length, most)
    digit = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert any(math.isclose(digit, nice, rel_tol=1e-6) for nice in (1, 2, 5, 10))
    assert length / step <= most * 1.001


def test_lengths_that_double_have_their_ticks_there():
    assert doubling_ticks(Span(64.0, 2048.0, is_log=True), 8) == [64, 128, 256, 512, 1024, 2048]
    assert doubling_ticks(Span(64.0, 2048.0, is_log=True), 3) == [64, 256, 1024]
