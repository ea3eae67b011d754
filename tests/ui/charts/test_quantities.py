import pytest

from ui.charts.figures import Axis, Kind
from ui.charts.quantities import axis_words, plain_number, scale_for, spread_words, words_of


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (Kind.DURATION, 8.61, "8.6 ms"),
        (Kind.DURATION, 2_500.0, "2.50 s"),
        (Kind.BYTES, 92 * 1024**2, "92 MiB"),
        (Kind.RATE, 121.24, "121 tok/s"),
        (Kind.SHARE, 0.031, "3.1%"),
        (Kind.SHARE, 0.31, "31%"),
        (Kind.TOKENS, 1024, "1,024 tokens"),
        (Kind.FACTOR, 2.0, "2.00 times"),
        (Kind.FLOPS, 1.1e12, "1.1 TFLOP/s"),
        (Kind.BANDWIDTH, 34e9, "34 GB/s"),
        (Kind.INTENSITY, 3.52, "3.5 FLOP/B"),
        (Kind.COUNT, 16, "16"),
        (Kind.NUMBER, 0.01234, "0.01234"),
    ],
)
def test_a_value_has_the_unit_it_is_read_in(kind, value, words):
    assert words_of(kind, value) == words


def test_an_axis_has_one_unit():
    scale = scale_for(Kind.DURATION, 4_000.0)
    assert (scale.number(1_500.0), scale.unit) == ("1.5", "s")
    assert axis_words(Axis("Time", Kind.DURATION), scale) == "Time (s)"
    assert axis_words(Axis("Streams", Kind.COUNT), scale_for(Kind.COUNT, 8)) == "Streams"


def test_numbers_are_short_and_honest():
    assert plain_number(0) == "0"
    assert plain_number(1234567) == "1,234,567"
    assert plain_number(0.5) == "0.5"


def test_a_single_measurement_has_no_spread():
    assert spread_words(Kind.RATE, 5.0, 5.0) == ""
    assert spread_words(Kind.RATE, 5.0, 6.0) == "5.0 tok/s to 6.0 tok/s"
