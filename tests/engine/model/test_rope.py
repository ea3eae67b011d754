"""Frequencies against their definition, and the rotation against a rotation of pairs."""

import math

import pytest
import torch

from engine.model.config import RopeScaling
from engine.model.rope import (
    RotaryTable,
    attention_factor,
    describe_scaling,
    inverse_frequencies,
)

CPU = torch.device("cpu")


def test_plain_frequencies() -> None:
    expected = torch.tensor([1.0, 10000**-0.25, 10000**-0.5, 10000**-0.75])
    torch.testing.assert_close(inverse_frequencies(8, 10000.0), expected)


def test_linear_scaling_divides() -> None:
    scaled = inverse_frequencies(8, 10000.0, RopeScaling("linear", factor=4.0))
    torch.testing.assert_close(scaled, inverse_frequencies(8, 10000.0) / 4)


def test_llama3_keeps_fast_and_divides_slow_frequencies() -> None:
    scaling = RopeScaling(
        "llama3",
        factor=8.0,
        original_max_position=8192,
        low_freq_factor=1.0,
        high_freq_factor=4.0,
    )
    plain = inverse_frequencies(128, 500000.0)
    ratio = plain / inverse_frequencies(128, 500000.0, scaling)
    wavelengths = 2 * math.pi / plain
    fast, slow = ratio[wavelengths < 8192 / 4], ratio[wavelengths > 8192]
    torch.testing.assert_close(fast, torch.ones_like(fast))
    torch.testing.assert_close(slow, torch.full_like(slow, 8.0))
    assert min(len(fast), len(slow)) > 20
    between = ratio[(wavelengths >= 8192 / 4) & (wavelengths <= 8192)]
    assert bool(((between > 1) & (between < 8)).all())


def test_stored_factors_divide_each_pair() -> None:
    scaling = RopeScaling("factors", freq_factors=(1.0, 2.0, 4.0, 8.0))
    plain = inverse_frequencies(8, 10000.0)
    torch.testing.assert_close(
        inverse_frequencies(8, 10000.0, scaling), plain / torch.tensor([1.0, 2.0, 4.0, 8.0])
    )


def test_dynamic_scaling_grows_theta_with_the_context() -> None:
    scaling = RopeScaling("dynamic", factor=2.0, original_max_position=100)
    plain = inverse_frequencies(8, 10000.0)
    torch.testing.assert_close(inverse_frequencies(8, 10000.0, scaling, 100), plain)
    grown = inverse_frequencies(8, 10000.0, scaling, 300)
    torch.testing.assert_close(grown, inverse_frequencies(8, 10000.0 * 5 ** (8 / 6)))


def test_yarn_keeps_fast_pairs_and_divides_slow_ones() -> None:
    scaling = RopeScaling("yarn", factor=4.0, original_max_position=4096)
    ratio = inverse_frequencies(128, 10000.0) / inverse_frequencies(128, 10000.0, scaling)
    assert bool((ratio.diff() >= 0).all())
    torch.testing.assert_close(ratio[:20], torch.ones(20))
    torch.testing.assert_close(ratio[50:], torch.full((14,), 4.0))


def test_longrope_divides_by_the_factors_of_the_planned_context() -> None:
    scaling = RopeScaling(
        "longrope", 4.0, 64, short_factors=(1.0, 2.0, 3.0, 4.0), long_factors=(5.0, 6.0, 7.0, 8.0)
    )
    plain = inverse_frequencies(8, 10000.0)
    for context, factors in ((64, scaling.short_factors), (65, scaling.long_factors)):
        scaled = inverse_frequencies(8, 10000.0, scaling, context)
        torch.testing.assert_close(scaled, plain / torch.tensor(factors))


def test_attention_factors() -> None:
    assert attention_factor(None) == 1.0
    assert attention_factor(RopeScaling("linear", factor=8.0)) == 1.0
    assert attention_factor(RopeScaling("yarn", factor=1.0)) == 1.0
    assert attention_factor(RopeScaling("yarn", factor=math.e)) == pytest.approx(1.1)
    both = RopeScaling("yarn", factor=math.e, mscale=2.0, mscale_all_dim=1.0)
    assert attention_factor(both) == pytest.approx(1.2 / 1.1)
    given = RopeScaling("longrope", factor=8.0, attention_factor=1.5)
    assert attention_factor(given) == 1.5
    longrope = RopeScaling("longrope", factor=64.0, original_max_position=64)
    assert attention_factor(longrope) == pytest.approx(math.sqrt(2))


def test_only_the_leading_dimensions_turn() -> None:
    frequencies = inverse_frequencies(4, 10000.0)
    narrow = RotaryTable(frequencies, torch.float32, CPU, factor=1.5)
    wide = RotaryTable(frequencies, torch.float32, CPU, head_dim=10, factor=1.5)
    heads = torch.randn(3, 2, 10, generator=torch.Generator().manual_seed(1))
    results = []
    for table, part in ((narrow, heads[..., :4]), (wide, heads)):
        table.reserve(50)
        rows = table.rows(torch.tensor([0, 3, 49]), torch.ones(2, 1))
        results.append(table.rotate_(part.clone(), *rows))
    torch.testing.assert_close(results[1][..., :4], results[0])
    assert torch.equal(results[1][..., 4:], heads[..., 4:])


def test_rotates_each_pair_by_its_angle() -> None:
    frequencies = inverse_frequencies(8, 10000.0)
    table = RotaryTable(frequencies, torch.float32, CPU)
    table.reserve(2000)
    positions = torch.tensor([0, 1, 1999])
    heads = torch.randn(3, 2, 8, generator=torch.Generator().manual_seed(1))
    pairs = torch.complex(heads[..., :4], heads[..., 4:])
    angles = torch.outer(positions.float(), frequencies).unsqueeze(1)
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    turned *= torch.tensor([[0.5], [1.0]])
    cosines, sines = table.rows(positions, torch.tensor([[0.5], [1.0]]))
    rotated = table.rotate_(heads.clone(), cosines, sines)
    torch.testing.assert_close(rotated, torch.cat((turned.real, turned.imag), -1))


def test_growing_keeps_the_rows() -> None:
    table = RotaryTable(inverse_frequencies(8, 10000.0), torch.float32, CPU)
    table.reserve(10)
    before = table.rows(torch.arange(10), torch.ones(1, 1))
    table.reserve(table.num_positions + 1)
    after = table.rows(torch.arange(10), torch.ones(1, 1))
    torch.testing.assert_close(before, after, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("kind", "context", "expected"),
    [
        ("longrope", 33, "rope: long factors, for contexts over 32 tokens"),
        ("longrope", 32, "rope: short factors, for contexts up to 32 tokens"),
        ("dynamic", 64, "rope: dynamic scaling, stretched to 64 tokens"),
        ("dynamic", 32, "rope: dynamic scaling, at rest up to 32 tokens"),
        ("yarn", 64, None),
    ],
)
def test_what_was_decided_is_said(kind, context, expected):
    scaling = RopeScaling(kind, factor=2.0, original_max_position=32)
    assert describe_scaling(scaling, context) == expected
    assert describe_scaling(None, context) is None


def test_a_dynamic_scaling_at_rest_changes_nothing():
    scaling = RopeScaling("dynamic", factor=4.0, original_max_position=32)
    assert torch.equal(inverse_frequencies(16, 1e4, scaling, 32), inverse_frequencies(16, 1e4))
    assert not torch.equal(inverse_frequencies(16, 1e4, scaling, 33), inverse_frequencies(16, 1e4))
