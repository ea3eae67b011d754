import pytest

from ui.widgets.units import (
    Quantity,
    bytes_over,
    bytes_quantity,
    count_short,
    duration_quantity,
    milliseconds,
    parameters_short,
    rate_quantity,
    short_number,
)


@pytest.mark.parametrize(
    ("num_bytes", "shown"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1 KiB"),
        (23_040, "22.5 KiB"),
        (1024 * 1024 - 1, "1.0 MiB"),
        (54 * 2**20, "54 MiB"),
        (9.62 * 2**30, "9.6 GiB"),
        (2**40, "1 TiB"),
        (5_000 * 2**40, "5,000 TiB"),
    ],
)
def test_bytes_take_the_unit_that_leaves_a_readable_number(num_bytes, shown):
    assert str(bytes_quantity(num_bytes)) == shown


@pytest.mark.parametrize(
    ("used", "budget", "shown"),
    [
        (54 * 2**20, 512 * 2**20, (Quantity("54", "MiB"), "512")),
        (0, 512 * 2**20, (Quantity("0", "MiB"), "512")),
        (0, 1.2 * 2**30, (Quantity("0", "MiB"), "1.2 GiB")),
        (0, 40 * 2**10, (Quantity("0", "KiB"), "40")),
        (900 * 2**20, 16 * 2**30, (Quantity("900", "MiB"), "16 GiB")),
    ],
)
def test_a_budget_in_the_same_unit_does_not_repeat_it(used, budget, shown):
    assert bytes_over(used, budget) == shown


@pytest.mark.parametrize(
    ("duration_ns", "shown"),
    [
        (0, "0 ms"),
        (20_000, "<0.1 ms"),
        (4_700_000, "4.7 ms"),
        (99_960_000, "100 ms"),
        (182_400_000, "182 ms"),
        (999_400_000, "999 ms"),
        (999_600_000, "1.00 s"),
        (1_824_000_000, "1.82 s"),
        (12_345_000_000, "12.3 s"),
    ],
)
def test_durations(duration_ns, shown):
    assert str(duration_quantity(duration_ns)) == shown


def test_milliseconds_stay_milliseconds():
    assert milliseconds(4_700_000) == "4.7"
    assert milliseconds(2_500_000_000) == "2,500"


@pytest.mark.parametrize(
    ("rate", "shown"), [(0.4, "0.4 tok/s"), (99.96, "100 tok/s"), (1240.2, "1,240 tok/s")]
)
def test_rates(rate, shown):
    assert str(rate_quantity(rate)) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(8192, "8K"), (131_072, "128K"), (1_048_576, "1M"), (2000, "2,000"), (512, "512")],
)
def test_context_lengths_read_as_on_the_models_box(count, shown):
    assert count_short(count) == shown


@pytest.mark.parametrize(
    ("count", "shown"), [(134_515_008, "135M"), (7_241_732_096, "7.2B"), (4_096, "4,096")]
)
def test_parameters(count, shown):
    assert parameters_short(count) == shown


def test_whole_numbers_have_no_decimals():
    assert short_number(54.0) == "54"
    assert short_number(54.3) == "54.3"
    assert short_number(1234.5) == "1,234"
